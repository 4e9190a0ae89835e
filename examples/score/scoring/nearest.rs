//! Names of networks put together from a head and a backbone, as model zoos list them, and the nearest that the catalog has.

/// Heads of detectors by words of their names, and the catalog's heads from the same to the nearest: of what is not known,
/// the backbone decides.
const HEADS: &[(&[&str], &[&str])] = &[
    (&["panoptic fpn"], &["panoptic-fpn", "mask-rcnn"]),
    (
        &["cascade mask", "htc ", "hybrid task", "detectors", "cascade panoptic"],
        &["cascade-mask-rcnn", "mask-rcnn", "faster-rcnn"],
    ),
    (&["keypoint rcnn"], &["keypoint-rcnn", "mask-rcnn"]),
    (
        &["mask rcnn", "mask scoring", "ms rcnn", "pointrend", "solov2", "yolact", "condinst"],
        &["mask-rcnn", "faster-rcnn"],
    ),
    (&["fast rcnn"], &["fast-rcnn", "faster-rcnn"]),
    (&["rpn "], &["rpn", "faster-rcnn"]),
    (
        &["fcos", "atss", "gfl", "paa ", "tood", "vfnet", "autoassign", "foveabox", "reppoints", "lad ", "ddod"],
        &["fcos", "retinanet"],
    ),
    (&["retina", "freeanchor", "fsaf"], &["retinanet"]),
    (&["rcnn", "pafpn", "faster"], &["faster-rcnn"]),
];

/// Backbones by words of their names, as the catalog writes them in ids; of those that it has no detectors on, the one with
/// as many activations (`activations_m_at_default` of vision.csv and timm's results/benchmark-infer-*.csv).
const BACKBONES: &[(&str, &str)] = &[
    ("x101 64x4d", "x101-64x4d"),
    ("x101 32x8d", "x101-32x8d"),
    ("x101", "x101-32x4d"),
    ("convnext t", "convnext-t"),
    ("convnext s", "convnext-s"),
    ("swin t", "swin-t"),
    ("swin s", "swin-s"),
    ("hrnetv2p w18", "r101"),
    ("hrnetv2p w32", "x101-32x4d"),
    ("hrnetv2p w40", "x101-64x4d"),
    ("res2net 101", "r101"),
    ("regnetx 400mf", "r18"),
    ("regnetx 800mf", "r34"),
    ("regnetx", "r50"),
    ("s101", "r101"),
    ("s50", "r50"),
    ("r152", "r101"),
    ("r101", "r101"),
    ("r50", "r50"),
    ("r34", "r34"),
    ("r18", "r18"),
];

/// Letters, digits and single spaces, with `R-CNN`, `ResNet-50`, `R-50` and `X-101` as one word each.
fn words(name: &str) -> String {
    let lower: String =
        name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { ' ' }).collect();
    let text = format!("{} ", lower.split_whitespace().collect::<Vec<_>>().join(" "));
    [
        ("r cnn", "rcnn"),
        ("resnext ", "x"),
        ("resnext", "x"),
        ("resnet ", "r"),
        ("resnet", "r"),
        ("resnest ", "s"),
        (" r ", " r"),
        (" x ", " x"),
        (" s 50", " s50"),
        (" s 101", " s101"),
    ]
    .iter()
    .fold(text, |text, (long, short)| text.replace(long, short))
}

/// The id of a detector that `exists` and that this name means, or the nearest.
pub(super) fn detector(name: &str, exists: impl Fn(&str) -> bool) -> Option<String> {
    let text = words(name);
    let (_, heads) = HEADS.iter().find(|(said, _)| said.iter().any(|word| text.contains(word)))?;
    let (_, backbone) = BACKBONES.iter().find(|(said, _)| text.contains(said))?;
    let neck = ["c4", "dc5"].iter().find(|neck| text.contains(&format!(" {neck} "))).unwrap_or(&"fpn");
    // What a head is not known on, it is often known on the next one of the same width.
    let near = match *backbone {
        "x101-32x4d" => "x101-32x8d",
        "r34" => "r50",
        other => other,
    };
    [*backbone, near].iter().find_map(|backbone| {
        heads.iter().find_map(|head| {
            [format!("{head}-{backbone}-{neck}"), format!("{head}-{backbone}-fpn"), format!("{head}-{backbone}")]
                .into_iter()
                .find(|id| exists(id))
        })
    })
}

/// Networks for scenes that are called like others and work on maps of another size: at a sixteenth of the picture in the
/// last stages (`FCN R-50-D16`), on a picture of half the size (`ICNet`).
pub(super) fn unlike(name: &str) -> bool {
    let lower = name.to_lowercase();
    (lower.contains("-d16") && !lower.starts_with("unet")) || lower.starts_with("icnet")
}

/// The id of a network for scenes, as mmsegmentation's tables name them: a head and its backbone (`DeepLabV3+ R-101-D8`,
/// `UPerNet Swin-T`, `Segformer MIT-B3`). Of heads on a dilated `ResNet` that are not known, `PSPNet`'s is the nearest: the
/// backbone decides. On an `HRNet`, which keeps its maps large, and on a plain transformer, the backbone is nearly all.
pub(super) fn scene(name: &str, exists: impl Fn(&str) -> bool) -> Option<String> {
    let lower = name.to_lowercase();
    let text = lower.replace("convnext-", "convnext");
    let text = ["r-", "resnet-", "resnest-", "s-"].iter().fold(text, |text, long| text.replace(long, "r"));
    let text = text.replace("resnet", "r").replace("resnest", "r");
    let words: Vec<&str> = text.split([' ', ',', '(', ')', '_', '-']).filter(|w| !w.is_empty()).collect();
    let after = |word: &str| words.iter().position(|w| *w == word).and_then(|at| words.get(at + 1)).copied();
    let numbered = |letter: char, sizes: &[&str]| {
        words.iter().find_map(|w| {
            let size = w.strip_prefix(letter)?;
            // `R-50b`: the same with another stem.
            let size = size.strip_suffix('b').unwrap_or(size);
            sizes.iter().find(|s| **s == size).map(|s| (*s).to_owned())
        })
    };
    if text.contains("segformer") {
        return numbered('b', &["0", "1", "2", "3", "4", "5"]).map(|size| format!("segformer-b{size}"));
    }
    let first = *words.first()?;
    if lower.contains("hrnet") {
        let detects = ["rcnn", "r-cnn", "htc", "fcos"].iter().any(|w| lower.contains(w));
        let width = numbered('w', &["18", "48"])?;
        return (!detects && !lower.contains("small") && first != "ocrnet").then(|| format!("hrnet-w{width}"));
    }
    if matches!(first, "setr" | "segmenter") {
        let size = after("vit")?.replace('t', "ti");
        return Some(format!("vit-{size}-16"));
    }
    let named = |size: &str| match size {
        "t" => "tiny".to_owned(),
        "s" => "small".to_owned(),
        "b" => "base".to_owned(),
        other => other.to_owned(),
    };
    let backbone = numbered('r', &["18", "34", "50", "101"])
        .map(|depth| format!("r{depth}"))
        .or_else(|| after("swin").map(|size| format!("swin-{size}")))
        .or_else(|| {
            words.iter().find_map(|w| w.strip_prefix("convnext")).map(|size| format!("convnext-{}", named(size)))
        })?;
    let dilated = words.contains(&"d8");
    let heads: &[&str] = match first {
        "deeplabv3+" | "deeplabv3plus" => &["deeplabv3plus", "pspnet"],
        "deeplabv3" => &["deeplabv3", "pspnet"],
        "fcn" => &["fcn", "pspnet"],
        "upernet" => &["upernet"],
        "pspnet" | "psp" => &["pspnet"],
        "semantic" | "fpn" | "semfpn" => &["fpn"],
        _ if dilated => &["pspnet"],
        _ => return None,
    };
    heads.iter().map(|head| format!("{head}-{backbone}")).find(|id| exists(id))
}

/// One of the YOLO family of which no size is told: the middle one.
pub(super) fn yolo(name: &str) -> Option<String> {
    let lower = name.to_lowercase().replace('_', " ");
    let (family, _) = lower.split_once(" (size not stated)")?;
    Some(format!("{family}m"))
}

/// Classes of the data sets that scenes are segmented on, by the row's words or the usual crop.
pub(super) fn scene_classes(words: &str) -> Option<u64> {
    // mmsegmentation, `configs/_base_/datasets`.
    const DATA: &[(&str, u64)] = &[
        ("cityscapes", 19),
        ("ade20k", 150),
        ("coco-stuff", 171),
        ("pascal context", 60),
        ("voc", 21),
        ("loveda", 7),
        ("potsdam", 6),
        ("vaihingen", 6),
        ("chase", 2),
        ("drive", 2),
        ("stare", 2),
        ("hrf", 2),
        ("512x1024", 19),
        ("769x769", 19),
        ("1024x1024", 19),
        ("832x832", 19),
    ];
    DATA.iter().find(|(name, _)| words.contains(name)).map(|(_, classes)| *classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_of_what_is_there() {
        let all = |_: &str| true;
        for (name, id) in [
            ("Mask R-CNN X101-32x4d-FPN", "mask-rcnn-x101-32x4d-fpn"),
            ("Faster R-CNN R-50-C4", "faster-rcnn-r50-c4"),
            ("ATSS R101", "fcos-r101-fpn"),
            ("HTC R50-FPN", "cascade-mask-rcnn-r50-fpn"),
            ("RetinaNet RegNetX-3.2GF-FPN", "retinanet-r50-fpn"),
            ("Libra Faster R-CNN ResNeXt-101-64x4d", "faster-rcnn-x101-64x4d-fpn"),
        ] {
            assert_eq!(detector(name, all).as_deref(), Some(id), "{name}");
        }
        let few = |id: &str| id == "retinanet-r101-fpn";
        assert_eq!(detector("FCOS R101", few).as_deref(), Some("retinanet-r101-fpn"));
        assert_eq!(detector("DETR R50", all), None);
    }

    #[test]
    fn heads_of_scenes() {
        let all = |_: &str| true;
        for (name, id) in [
            ("DeepLabV3+ R-101-D8", Some("deeplabv3plus-r101")),
            ("OCRNet R-101-D8", Some("pspnet-r101")),
            ("FCN R-50b-D8", Some("fcn-r50")),
            ("Segformer MIT-B3", Some("segformer-b3")),
            ("UPerNet ConvNeXt-B", Some("upernet-convnext-base")),
            ("FCN HRNetV2p-W48", Some("hrnet-w48")),
            ("Segmenter ViT-T", Some("vit-ti-16")),
            ("Semantic FPN R-50", Some("fpn-r50")),
        ] {
            assert_eq!(scene(name, all).as_deref(), id, "{name}");
        }
        assert!(unlike("FCN R-50-D16") && !unlike("UNet-S5-D16"));
        assert_eq!(scene("FCN R-18-D8", |id| id == "pspnet-r18").as_deref(), Some("pspnet-r18"));
    }

    #[test]
    fn middle_size_where_none_is_told() {
        assert_eq!(yolo("YOLOv8 (size not stated)").as_deref(), Some("yolov8m"));
        assert_eq!(yolo("YOLOv8s"), None);
    }
}
