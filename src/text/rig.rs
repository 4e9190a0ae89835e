//! A machine of one's own, as a list to be ticked off.

use super::numbers::{money, plain, whole};
use super::{Lang, Message, both, say};
use crate::advise::rig::{Case, Check, Circuit, Cooling, Noise, NotAtHome, Platform, Rig};
use crate::catalog::Catalog;
use crate::units::Money;

/// The fold.
pub const RIG: Message = both!("自己装机：电源、主板、散热", "Your own machine: power, board, cooling");
/// The list.
pub const LIST: Message = both!("买之前逐条核对", "Check before you buy");
/// To paper.
pub const PRINT: Message = both!("打印清单", "Print the list");
/// Where renting is better.
pub const RENT_INSTEAD: Message = both!("什么时候租更好", "When renting is better");
/// The card draws an unknown power.
pub const UNKNOWN_POWER: Message =
    both!("这张卡没有公开功耗，列不出清单。", "The power of this card is not published: there is no list.");

/// The heading of a list: `2 × RTX 3090`.
pub fn of(lang: Lang, count: u32, card: &str) -> String {
    say!(lang, "{count} 张 {card} 的整机", "A machine for {count} x {card}")
}

/// What it draws, and what that costs in a month.
pub fn power(lang: Lang, rig: &Rig, price: Money, hours_a_week: f64) -> String {
    let ten = |watts: f64| whole((watts / 10.0).round() * 10.0);
    let (wall, average) = (ten(rig.wall_w), ten(rig.month_kwh * 1000.0 / 720.0));
    let kwh = whole(rig.month_kwh.round());
    let all = money(lang, Money { amount: rig.month_kwh * price.amount, ..price }, false);
    // A month of thirty days holds 720 hours.
    let part = rig.month_kwh * (hours_a_week * 30.0 / 7.0 / 720.0).min(1.0);
    let (some, week) = (money(lang, Money { amount: part * price.amount, ..price }, false), plain(hours_a_week));
    let rate = money(lang, price, false);
    say!(
        lang,
        "满载时从墙上最多取 {wall} W（选电源和插座按它），训练时平均 {average} W。日夜不停一个月 {kwh} 度电，{all}；每周用 {week} 小时，一个月 {some}（每度 {rate}）。",
        "It draws up to {wall} W from the wall, for which supply and socket are sized, and {average} W on average in training. Day and night that is {kwh} kWh a month, {all}; at {week} hours a week {some} a month ({rate} a kWh)."
    )
}

/// The name of a circuit.
pub const fn circuit(circuit: Circuit) -> Message {
    match circuit {
        Circuit::Us15A => both!("美国 15 A / 120 V", "US 15 A at 120 V"),
        Circuit::Us20A => both!("美国 20 A / 120 V", "US 20 A at 120 V"),
        Circuit::China10A => both!("中国 10 A 插座 / 220 V", "China 10 A socket at 220 V"),
        Circuit::China16A => both!("中国 16 A 空调插座 / 220 V", "China 16 A socket at 220 V"),
        Circuit::Europe16A => both!("欧洲 16 A / 230 V", "Europe 16 A at 230 V"),
    }
}

/// One line: what, and what to look at.
pub fn check(lang: Lang, check: &Check) -> Option<(&'static str, String)> {
    let (name, detail) = match check {
        Check::PowerSupply { watts, supplies } => {
            let all = whole(*watts);
            let detail = if *supplies > 1 {
                say!(
                    lang,
                    "合计 {all} W，分成 {supplies} 个，同时开关；已按板卡功耗之和加 25% 余量，留给瞬间尖峰。",
                    "{all} W in all, as {supplies} supplies switched together; a quarter over the sum, for spikes."
                )
            } else {
                say!(
                    lang,
                    "{all} W，80 PLUS 金牌以上；已按板卡功耗之和加 25% 余量，留给瞬间尖峰。",
                    "{all} W, 80 PLUS Gold or better; a quarter over the sum, for spikes."
                )
            };
            (both!("电源", "Power supply"), detail)
        }
        Check::TwelveVolt { cables } => (
            both!("供电线", "Cables"),
            say!(
                lang,
                "每张卡一根 16 针线（12VHPWR 或 12V-2x6），一共 {cables} 根；用 ATX 3 电源自带的，插到底，别急弯。",
                "A 16-pin cable (12VHPWR or 12V-2x6) for each card, {cables} in all, from an ATX 3 supply; push it home, no sharp bends."
            ),
        ),
        Check::EightPin { each, cables } => (
            both!("供电线", "Cables"),
            say!(
                lang,
                "每张卡至少 {each} 根 8 针线，一共 {cables} 根：一个口一根，别用一分二的转接。接口数看卡的说明。",
                "At least {each} cables with 8 pins for each card, {cables} in all: one for each socket, no splitters. The card's manual tells how many sockets it has."
            ),
        ),
        Check::Bridge { gb_s } => {
            let rate = plain(*gb_s);
            (
                both!("卡间通信", "Between cards"),
                say!(
                    lang,
                    "有 NVLink 接口：加一条桥（按两卡的槽距买），两张卡直连 {rate} GB/s；不加也能跑，走 PCIe。",
                    "They have NVLink: a bridge of the right spacing joins two of them at {rate} GB/s. Without it they talk over PCIe."
                ),
            )
        }
        // Circuits are told together.
        Check::Wall(_) => return None,
        Check::NoCircuit => (
            both!("插座", "Wall circuit"),
            say!(
                lang,
                "普通的一路插座都带不动：要分两路，或请电工拉专线。",
                "No ordinary circuit carries it: two circuits, or an electrician."
            ),
        ),
        Check::Board(platform) => (
            both!("主板", "Board"),
            match platform {
                Platform::Desktop => {
                    say!(lang, "任何台式主板的第一条 x16 插槽。", "The first x16 slot of any desktop board.")
                }
                Platform::DesktopTwoSlots => say!(
                    lang,
                    "要写明能拆成 x8 + x8 的台式主板（两条都接处理器），或工作站平台给两条 x16。",
                    "A desktop board that splits into x8 and x8, both from the processor; or a workstation with two x16."
                ),
                Platform::Workstation => say!(
                    lang,
                    "Threadripper、Xeon W 或 EPYC：64 到 128 条 PCIe 通道，四条 x16 插槽。",
                    "Threadripper, Xeon W or EPYC: 64 to 128 lanes and four x16 slots."
                ),
                Platform::Server => say!(
                    lang,
                    "双路服务器主板，带 PCIe 交换芯片。",
                    "A server board with two processors and PCIe switches."
                ),
            },
        ),
        Check::Slots(slots) => (
            both!("槽位", "Slots"),
            say!(
                lang,
                "卡一共占 {slots} 个槽位的厚度，量一量插槽间距。",
                "The cards cover {slots} slots: measure the gaps between them."
            ),
        ),
        Check::Case(case) => (
            both!("机箱", "Case"),
            match case {
                Case::Tower => say!(
                    lang,
                    "中塔以上，前后都有进出风，量好卡长。",
                    "A mid tower or larger with air from front to back; mind the length of the card."
                ),
                Case::OpenFrame => say!(
                    lang,
                    "超过 ATX 主板的 7 个槽位：开放式机架加延长线，或 8 槽以上的大机箱。",
                    "More than the seven slots of ATX: an open frame with risers, or a case with eight slots and more."
                ),
                Case::Rack => say!(lang, "4U 机架服务器。", "A rack server of 4U."),
            },
        ),
        Check::Cool(cooling) => (
            both!("散热", "Cooling"),
            match cooling {
                Cooling::OwnFans => say!(lang, "卡自己的风扇就够，机箱要通风。", "Their own fans do, in an airy case."),
                Cooling::RisersOrBlowers => say!(
                    lang,
                    "几张卡紧挨着会闷住：隔开装，用延长线，或换涡轮、水冷版；把功耗限到八成，慢不了多少。",
                    "Cards side by side choke: space them out, use risers, or take blower or water-cooled ones. A power limit of 80 % costs little speed."
                ),
                Cooling::ServerAir => {
                    say!(lang, "被动散热，要服务器的强风道。", "Passive: needs the air stream of a server.")
                }
            },
        ),
        Check::Memory(bytes) => {
            let gb = whole(bytes.gib());
            (
                both!("内存", "Main memory"),
                say!(
                    lang,
                    "{gb} GB：显存合计的两倍，或这个训练自己要的，取大的。",
                    "{gb} GB: twice the memory of the cards, or what this run itself needs, whichever is more."
                ),
            )
        }
        Check::Disk { gb } => {
            let size = if *gb >= 1000 { format!("{} TB", gb / 1000) } else { format!("{gb} GB") };
            (
                both!("硬盘", "Disk"),
                say!(
                    lang,
                    "NVMe {size}，放系统、模型和三份检查点；数据集另算。",
                    "NVMe of {size} for system, model and three checkpoints; the data set comes on top."
                ),
            )
        }
        Check::Noise(noise) => (
            both!("噪音", "Noise"),
            match noise {
                Noise::Usual => say!(lang, "和打游戏的电脑一样。", "That of a gaming computer."),
                Noise::Loud => say!(lang, "又响又热，别放卧室。", "Loud and hot: not for a bedroom."),
                Noise::ServerRoom => say!(lang, "要单独的机房。", "A room of its own."),
            },
        ),
        Check::NoPeerToPeer => (
            both!("卡间通信", "Between cards"),
            say!(
                lang,
                "40、50 系游戏卡的官方驱动不开 P2P，数据绕道内存：少切权重，多用数据并行。",
                "NVIDIA's driver gives 40- and 50-series game cards no peer-to-peer: traffic goes through main memory. Prefer data parallel."
            ),
        ),
    };
    Some((name.text(lang), detail))
}

/// The circuits that carry it, and whether those of the person's own place are among them.
pub fn circuits(lang: Lang, rig: &Rig, here: &[Circuit]) -> Option<String> {
    let carrying: Vec<Circuit> =
        rig.checks.iter().filter_map(|c| if let Check::Wall(circuit) = c { Some(*circuit) } else { None }).collect();
    if carrying.is_empty() {
        return None;
    }
    let listed = |circuits: &mut dyn Iterator<Item = &Circuit>| {
        circuits.map(|c| circuit(*c).text(lang)).collect::<Vec<_>>().join(lang.pick("、", ", "))
    };
    let own = here.iter().find(|c| carrying.contains(c));
    Some(if let Some(own) = own {
        let others = listed(&mut carrying.iter().filter(|c| *c != own));
        let own = circuit(*own).text(lang);
        say!(
            lang,
            "{own} 一路就够（{others} 也行）。别和空调、热水器共用一路。",
            "{own}: one circuit does ({others} would too). Nothing else large on the same one."
        )
    } else {
        let names = listed(&mut carrying.iter());
        let own = here.last().map_or("", |c| circuit(*c).text(lang));
        say!(
            lang,
            "你那里的一路（{own}）带不动，要分两路或拉专线。带得动的：{names}。",
            "A circuit of yours ({own}) does not carry it: two circuits, or an electrician. These would: {names}."
        )
    })
}

/// Why one would rent instead.
pub const fn not_at_home(why: NotAtHome) -> Message {
    match why {
        NotAtHome::Module => both!(
            "这是服务器上的模组，要连整台服务器一起买，家里也放不了：租。",
            "This is a module of a server: it is bought with the whole machine and stands in no home. Rent."
        ),
        NotAtHome::Laptop => both!(
            "笔记本的显卡不单卖，没有整机可装。用原装的电源适配器，垫高散热，开性能模式；不够用就租。",
            "A laptop's card is not sold on its own: there is no machine to build. Run it on its own power adapter, raised for air, in performance mode; where that is not enough, rent."
        ),
        NotAtHome::WholeComputer => both!(
            "这种卡和电脑是一体的，一台里只有一张，没法自己凑几张：要更多就租。",
            "This card comes with its computer, one in each: for more of them, rent."
        ),
        NotAtHome::TooMany => both!(
            "四张以上要机柜、专线和单独的房间，家里放不下：租。",
            "More than four cards want a rack, circuits and a room of their own, which no home has. Rent."
        ),
    }
}

/// Nothing to build: the least that runs the project stands in no home.
pub fn cluster(lang: Lang, least: Option<(&str, u32)>, catalog: &Catalog) -> String {
    let named = least.and_then(|(gpu, count)| Some((super::card_called(lang, catalog.gpu(gpu)?), count)));
    match named {
        Some((card, count)) => say!(
            lang,
            "这个项目最少也要 {card} × {count}，那是机房里的事，自己装不了：租。",
            "This project takes {card} x {count} at the least. That stands in a data center, not at home: rent."
        ),
        None => say!(
            lang,
            "照现在的设置没有哪种机器装得下，先按上面的办法改小。",
            "No machine holds it as it is set: make it smaller first, as advised above."
        ),
    }
}

/// The wall circuit, as a line of the list.
pub const WALL: Message = both!("插座", "Wall circuit");

/// What holds before any hour is counted.
pub fn rent_first(lang: Lang) -> String {
    say!(
        lang,
        "先租几小时把整个流程跑通，再决定买不买。",
        "Rent a few hours and get the whole run working before you buy. "
    )
}

/// No price to compare with.
pub fn no_rent(lang: Lang) -> String {
    say!(
        lang,
        "这张卡的租价和零售价不全，算不出用多少小时买才划算；先租别的卡把流程跑通，再决定买不买。",
        "Its rental and retail prices are not both known, so nobody can say from when on buying pays; get the run working on another rented card before you buy."
    )
}
