//! Fixed words of the page.

use super::{Message, both};

macro_rules! messages {
    ($($name:ident = $zh:literal, $en:literal;)+) => {
        $(#[doc = $en] pub const $name: Message = both!($zh, $en);)+
        /// All of them with their names, for tests.
        pub const ALL: &[(&str, Message)] = &[$((stringify!($name), $name),)+];
    };
}

messages! {
    TITLE = "显卡够用吗", "Enough GPU";
    PAGE_TITLE = "显卡够用吗 · 训练前先算一算", "Enough GPU · work it out before you train";
    TAGLINE = "训练之前先算一算：显存够不够，用什么卡，买还是租。",
        "Before you train: does it fit, on what card, and should you rent or buy?";
    SKIP = "跳到答案", "Skip to the answer";
    LANGUAGE = "语言", "Language";
    TO_DARK = "换成深色", "Switch to dark";
    TO_LIGHT = "换成浅色", "Switch to light";

    ASK = "你想训练什么？", "What do you want to train?";
    PROJECT = "项目", "Project";
    PROJECT_OWN = "我自己的项目", "My own project";
    HAVE = "你有什么卡？", "What card do you have?";
    CARD_NONE_CHOSEN = "还没选", "Not chosen yet";
    CARD_NO_GPU = "没有显卡", "I have no GPU";
    MODEL_CUSTOM = "不在列表里，我自己填参数", "Not listed: I give its numbers";
    MODEL_NETWORK = "我自己搭的网络，有各层的汇总表", "A network of my own (I have its summary table)";
    MODEL_NETWORK_DETAIL = "参数量和各层输出的大小", "parameters and sizes of the layers' outputs";
    SETTINGS = "怎么训练", "How you train it";
    MORE = "更多设置", "More settings";
    MORE_FOLD = "收起", "Show less";

    TYPE_TO_SEARCH = "打字就能搜", "Type to search";
    NOTHING_FOUND = "没有找到。换个写法试试，比如“4090”“qwen2.5 7b”",
        "Nothing found. Try it another way, such as \"4090\" or \"qwen2.5 7b\"";
    NO_PROJECT = "没有找到。换个说法试试，比如“聊天”“画风”“检测”，或者在下面直接选模型",
        "Nothing found. Try other words, such as \"chat\", \"style\" or \"detection\", or choose a model below";
    DID_YOU_MEAN = "你是不是要找", "Did you mean";
    SHOW_LIST = "展开列表", "Show the list";
    GROUP_START_HERE = "从这里开始", "Start here";
    GROUP_NOTHING = "没有，或还没定", "None, or not decided";
    GROUP_OWN = "自己的模型", "Your own model";
    BEST_MATCHES = "最接近的", "Best matches";

    DOOR = "贴上报错、配置、命令或 nvidia-smi", "Paste an error, config, command or nvidia-smi";
    DOOR_WAYS = "在页面上直接粘贴，或把文件拖进来", "Paste anywhere on the page, or drop a file";
    DOOR_TITLE = "手头有什么就贴什么", "Paste what you have";
    DOOR_PRIVACY = "只在这个页面里读，不会发出去。", "It is read in this page and goes nowhere.";
    DOOR_AREA = "贴在这里", "Paste here";
    DOOR_FILE = "选文件", "Choose a file";
    DOOR_CLEAR = "清空", "Clear";
    DOOR_SETTING = "设置", "Setting";
    DOOR_VALUE = "读到", "Value";
    DOOR_FROM = "出处", "Read from";
    DOOR_LIKELY = "推测", "likely";
    DOOR_UNKNOWN = "这几处没看懂", "Not understood";
    DOOR_REFUSED = "这几项填不进去", "These do not go into the form";
    DOOR_NOTHING = "能读的有：爆显存、爆内存的报错，nvidia-smi 一类的输出，config.json，训练命令和配置文件。",
        "What can be read: errors about memory, the output of nvidia-smi and its like, config.json, training commands and configuration files.";
    DOOR_WHICH = "按容量看是这几张之一，点一下填上", "By its capacity it is one of these; click to fill it in";
    DOOR_OWN = "和表单里的卡对得上", "It agrees with the card in the form";
    DOOR_NOT_OWN = "和表单里的卡对不上", "It is not the card in the form";
    DOOR_FIRST = "先做什么", "What to do first";
    DOOR_SAME = "和表单里的一样，不用改", "The form says the same already";
    DOOR_FILLED = "贴进来的内容", "What you pasted";
    DOOR_MARK = "来自贴进来的内容", "from what you pasted";
    DOOR_BROWSER = "不知道是哪张卡？看浏览器怎么说", "Not sure which card? Ask the browser";
    DOOR_SILENT = "浏览器没说是哪张卡。在命令行运行 nvidia-smi，把结果贴到这里。",
        "The browser does not tell the card. Run nvidia-smi and paste what it says here.";

    ANSWER = "答案", "The answer";
    WHY = "为什么", "Why";
    NEXT = "下一步", "Next step";
    MEMORY_BAR = "显存去哪了", "Where the memory goes";
    YOUR_CARD = "这张卡能用", "Your card";
    NEEDED = "需要", "Needed";
    PEAK = "峰值", "Peak";
    PART = "用途", "What for";
    AMOUNT = "大小", "Size";
    SHARE = "占比", "Share";
    TIMELINE = "一步之内的显存曲线", "Memory over one step";
    COPY = "复制", "Copy";
    COPIED = "已复制", "Copied";

    FIXES = "怎么办", "What you can do";
    FIXES_NOTE = "点一下就用上，随时能撤销。每一条都是重新算出来的。",
        "One click applies it, one click takes it back. Every figure was worked out afresh.";
    FIXES_ROOM = "还能更省", "Ways to save more";
    APPLY = "用上", "Apply";
    APPLY_ALL = "一键装下", "Make it fit";
    USE_FULLY = "用满它", "Use it fully";
    UNDO = "撤销", "Undo";
    APPLIED = "已用上：", "Applied: ";
    THEN_FITS = "用了就装得下", "then it fits";
    THEN_TIGHT = "用了还是悬", "still tight with it";
    NOT_ENOUGH_ALONE = "单用还不够", "not enough alone";
    COUNT_WITH = "照这样算", "Count with them";

    CARDS = "每张卡逐个看", "Card by card";
    CARDS_NOTE = "推荐的和买来最省的排在前面，其余按租来跑一次的价排，软件折腾、货源少的往后放。价里含一小时装环境和 100 GB 硬盘。价格带月份；前面有 ~ 的是大概数。",
        "Suggestions and the cheapest to buy first, the rest by what the run costs rented, later where software or supply is trouble. An hour of set-up and 100 GB of disk are included. Prices carry their month; ~ marks a rough one.";
    CARD = "显卡", "Card";
    FIT = "装得下吗", "Fits?";
    HEADROOM = "余量", "Headroom";
    HOURS = "跑完要", "Time";
    RENT_RUN = "租来跑一次", "Rent for this run";
    BUY = "买", "Buy";
    BUY_NEW = "新", "new";
    BUY_USED = "二手", "used";
    CHOOSE = "选这张", "Choose";
    AT_HOME = "手头的", "Yours";
    CHOSEN = "已选", "Chosen";
    ALL_CARDS = "看全部显卡", "Show all cards";
    FEWER_CARDS = "只看常见的", "Only the usual ones";
    FITS = "装得下", "fits";
    TIGHT = "悬", "tight";
    RUNS_OUT = "装不下", "runs out";
    UNKNOWN = "不清楚", "unknown";
    PICKS = "三个推荐", "Three picks";

    MONEY = "买、租，还是免费？", "Buy, rent, or free?";
    MONEY_NOTE = "所有的卡、张数、来路都比过一遍：自己的、免费的、租的、买的。",
        "Every card, number and way was weighed: your own, free, rented, bought.";
    SAMPLING = "时间都只算更新参数，采样没算，往往要久好几倍；钱也一样。", " All times are for the updates alone: sampling is not counted and often takes several times as long. So does the money.";
    FRONT = "时间和花费", "Time against money";
    FRONT_NOTE = "每个点是一种办法；线上的，谁也不比它又快又省。", "Each dot is a way to do it; none beats those on the line in both.";
    AXIS_COST = "花费", "Cost";
    AXIS_WAIT = "多久出结果", "Done in";
    AXIS_HOURS = "用了多少小时", "Hours of use";
    CURVE = "租还是买", "Rent or buy";
    CURVE_CARD = "看哪张卡", "Card";
    CURVE_NONE = "这张卡要么没人出租，要么买不到单卡，画不出曲线；能跑这个项目的卡里没有能自己装的，就只能租。",
        "This card is either not rented out or not sold on its own: there is no curve. Where no card that holds this project can be owned, rent.";
    LINE_RENT = "租", "rented";
    LINE_NEW = "买新卡", "bought new";
    LINE_USED = "买二手", "bought used";
    PRICES = "价格和汇率", "Prices and rates";
    PRICES_NOTE = "换成你看到的价，下面全部重算。清空就用回目录里的。",
        "Put in what you see; everything is worked out again. Cleared, the catalog's price returns.";
    PRICES_EDITED = "已改", "changed";
    BUDGET_ASK = "填上预算，就告诉你这些钱最快能怎么做。", "Give a budget, and see the soonest it can buy.";
    WHY_NOT = "为什么不是这张卡？", "Why not this card?";
    WHY_NOT_CARD = "问一张卡", "Ask about a card";
    SIDES = "游戏卡和计算卡，放在一起看", "Game card and data-center card, side by side";
    SIDES_ADD = "加一张卡", "Add a card";
    SIDES_REMOVE = "去掉", "Remove";
    GROWTH = "项目变大以后", "When the project grows";
    GROWTH_NOTE = "先从最小的开始；大到哪一步，再换哪张卡。", "Start smallest; this is what the next steps would take.";
    FREE = "能跑的免费平台", "Free notebooks that can do it";
    FREE_NOTE = "能用就先在这里跑通，再花钱。名额和规则常变，用之前看一眼官网。",
        "Where you can get in, run it there before you spend anything. Places and rules change: look at the site first.";

    WARNINGS = "这张卡要注意", "Know this about the card";

    BAND_TITLE = "± 是什么", "What ± means";
    BAND = "± 是误差范围。同一个训练换个库版本、换个驱动，显存就会差一点；真实值大多落在这个范围里。峰值加误差还装得下，才敢说装得下。",
        "± is the error band. The same run uses a little more or less with another library version or driver; the real figure mostly lies inside. Only when peak plus band fits do we say it fits.";
    SOURCES_TITLE = "数据从哪来", "Where the figures come from";
    SOURCES = "显存是把一步训练逐个张量走一遍算出来的，并和 PyTorch 的实测对过。显卡、模型和价格来自公开资料，每个价格都标着月份，下单前请再看一眼当天的价。",
        "Memory is worked out by walking one training step tensor by tensor, checked against what PyTorch measures. Cards, models and prices come from public sources; every price carries its month, so look again on the day you order.";
    PRIVATE_TITLE = "你填的只留在这里", "What you type stays here";
    PRIVATE = "你填的内容不会离开这个页面：没有服务器，不统计，不上传。",
        "What you type never leaves this page: there is no server, no tracking, no upload.";
    GIB_TITLE = "GiB 和 GB", "GiB and GB";
    GIB = "这里的 GiB 是 2 的 30 次方字节，和 nvidia-smi、PyTorch 报的一样。盒子上写的 24 GB，到 PyTorch 手里大约 23.6 GiB。",
        "A GiB here is 2 to the 30th bytes, as nvidia-smi and PyTorch count. Of the 24 GB on the box PyTorch gets about 23.6 GiB.";
    SHARE_PAGE = "分享", "Share";
    SHARE_NOTE = "复制这个项目的链接", "Copy the link to this project";
    LINK = "这个项目的链接", "The link to this project";
    LINK_COPIED = "链接已复制", "Link copied";
    SAVE = "保存", "Save";
    SAVE_NOTE = "存成一个文件，断网也能打开", "Save as one file that opens offline";
    EMBED = "嵌入", "Embed";
    EMBED_NOTE = "放进你的文章", "Put it into your post";
    EMBED_PLAIN = "框，高度固定", "A frame of fixed height";
    EMBED_FITTING = "框，高度自动合适", "A frame that fits its height";
    EMBED_LOCK = "要让读者改不了某几项，把它们的键名加进地址：", "To keep readers from changing some settings, add their keys to the address:";
    EMBED_WHERE = "把地址换成你放这个文件的地方。", "Replace the address with the place where you host this file.";
    LINK_HERE = "这一页是从文件打开的，链接只在这台电脑上打得开。要给别人看，点“保存”，把存下来的文件发过去。", "This page was opened from a file, so the link works on this computer only. For others, click Save and send them that file.";
    OPEN_FULL = "打开完整版", "Open the full page";
    CLOSE = "关闭", "Close";
    UNREAD = "链接里有几处没看懂，其余的都用上了", "Some parts of the link were not understood; the rest is in use";
    FP16_INSTEAD = "精度改 fp16", "set fp16";
    FP32_INSTEAD = "精度改 fp32", "set fp32";
    OVERPRICED = "租它不划算", "poor value";
    OVERPRICED_WHY = "同样的每小时价，有卡只要一半时间", "for no more an hour another card takes half the time";
    OVER_BUDGET = "超预算", "over budget";
    FREE_MORE = "看全部免费平台", "Show all free platforms";
    ON = "开", "on";
    OFF = "关", "off";
}
