//! What to do where no card holds a run as it is.

use super::next::Next;
use super::{Lang, say};
use crate::advise::Advice;
use crate::catalog::Catalog;
use crate::project::{Choice, Field, Method, Project};

/// No card holds it as it is: the change that saves most, since there is no use in small ones.
pub(super) fn nowhere(lang: Lang, project: &Project, advice: &Advice, catalog: &Catalog) -> Next {
    if let Some(fix) = advice.fixes.iter().max_by_key(|fix| fix.saves) {
        let (name, saves) = (super::next::named(lang, fix.kind), fix.saves);
        return Next::say(say!(
            lang,
            "照现在的设置，哪张卡都装不下。先{name}（在下面点），省 {saves}，再接着改。",
            "No card holds it as it is. First {name} (below), which saves {saves}, then go on from there."
        ));
    }
    let less = less(lang, project, catalog);
    Next::say(say!(lang, "哪张卡都装不下。{less}", "No card holds it. {less}"))
}

/// How a run takes less than any setting makes it take: adapters only where there are some, and are none yet.
pub(super) fn less(lang: Lang, project: &Project, catalog: &Catalog) -> String {
    let offered = crate::project::choices(Field::Method, project, catalog);
    let has = |method: Method| offered.contains(&method.id());
    match () {
        () if project.method.is_adapter() || !has(Method::Lora) => {
            say!(lang, "换小一点的模型，或者把样本改小。", "Take a smaller model, or smaller samples.")
        }
        () if has(Method::QLora) => {
            say!(
                lang,
                "换小一点的模型，或者改成 LoRA、QLoRA。",
                "Take a smaller model, or train LoRA or QLoRA adapters."
            )
        }
        () => say!(lang, "换小一点的模型，或者改成 LoRA。", "Take a smaller model, or train LoRA adapters."),
    }
}
