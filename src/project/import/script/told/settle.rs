//! From what was told to the settings of a project.

use super::Told;
use crate::catalog::{Architecture, DiffusionModel, Domain};
use crate::project::fields::CUSTOM_MODEL;
use crate::project::import::script::library;
use crate::project::import::{Basis, Note, Piece, Reading, Text};
use crate::project::{Field, Framework};

impl Told<'_> {
    /// Adds what was told to the reading.
    pub(in crate::project::import::script) fn settle(
        mut self,
        library: Option<(Framework, Piece)>,
        text: &Text,
        reading: &mut Reading,
    ) {
        let domain = self.model.as_ref().map(|(model, _)| model.domain);
        let denoiser = self.model.as_ref().map(|(model, _)| *model);
        if let Some((model, from)) = self.model.take() {
            reading.add(Field::Model, model.id, Basis::Stated, from);
        } else if let Some((name, _)) = self.unknown_model.take() {
            reading.notes.push(Note::UnknownModel(name));
        } else if self.shape.is_empty() {
            reading.notes.push(Note::NoModel);
        }
        let named = reading.value(Field::Model).is_some();
        if !named {
            self.shape(reading);
        }
        self.method(text, domain, reading);
        self.precision(text, reading);
        self.world = self.cards.as_ref().map_or(1, |(n, _)| *n).max(1) * self.machines.max(1);
        self.batches();
        self.sampling(text, reading);
        self.sharding(reading);
        if let Some(Architecture::Diffusion(denoiser)) = denoiser.map(|m| &m.architecture) {
            self.denoiser(denoiser, text, reading);
        }
        let tells = |told: &Self, field: Field| told.found.iter().any(|(known, ..)| *known == field);
        // `max_train_epochs` of sd-scripts overrides its steps, which are 1,600 unless given; elsewhere steps override.
        let kohya = self.library == Some(Framework::Kohya);
        if kohya && tells(&self, Field::Epochs) {
            self.steps = None;
        } else if kohya {
            self.steps.get_or_insert(1600);
        }
        if let Some(steps) = self.steps {
            self.found.retain(|(field, ..)| *field != Field::Epochs);
            reading.notes.push(Note::Steps(steps));
        }
        let sized = named || reading.value(Field::Model).is_some() || tells(&self, Field::MicroBatch);
        // What a whole command leaves out is not what another script said.
        let command = text.small().contains(".py ") && text.small().contains(" --");
        reading.whole = library.is_some() && sized || named && (command || tells(&self, Field::MicroBatch));
        let gathered = self.gathered(text);
        for (field, value, from) in std::mem::take(&mut self.found) {
            reading.add(field, value, Basis::Stated, from);
        }
        if let Some((framework, from)) = library {
            reading.add(Field::Framework, library::id(framework), Basis::Implied, from.clone());
            let adapts = reading.value(Field::Method).is_some_and(|method| method.contains("lora"));
            for (field, value) in library::usual(framework, text) {
                let of_adapters = matches!(field, Field::LoraRank | Field::LoraDropout);
                let counted_in_steps = *field == Field::Epochs && self.steps.is_some();
                if (adapts || !of_adapters) && !counted_in_steps {
                    reading.add(*field, *value, Basis::Implied, from.clone());
                }
            }
        }
        if reading.whole {
            reading.add(Field::Accumulation, gathered.to_string(), Basis::Implied, Piece::default());
        }
    }

    /// A network by its sizes, where no model is named.
    fn shape(&mut self, reading: &mut Reading) {
        let Some((_, _, from)) = self.shape.first() else { return };
        reading.add(Field::Model, CUSTOM_MODEL, Basis::Stated, from.clone());
        for (field, value, from) in std::mem::take(&mut self.shape) {
            reading.add(field, value, Basis::Stated, from);
        }
        let number = |field| reading.value(field).and_then(|value| value.parse::<u64>().ok());
        let (hidden, heads) = (number(Field::CustomHidden), number(Field::CustomHeads));
        // `ffn_hidden_size` where it is not given (`validate_args` of megatron/training/arguments.py).
        let wide = |hidden: u64| if self.gated { (hidden * 8 / 3) / 64 * 64 } else { hidden * 4 };
        let mut assumed = Vec::new();
        for (field, name, usual) in [
            (Field::CustomIntermediate, "--ffn-hidden-size", hidden.map(wide)),
            (Field::CustomKvHeads, "--num-query-groups", heads),
            // That of GPT-2's tokenizer, with which Megatron's examples train.
            (Field::CustomVocab, "--vocab-size", Some(50_257)),
        ] {
            if let Some(usual) = usual.filter(|_| reading.value(field).is_none()) {
                reading.add(field, usual.to_string(), Basis::Implied, Piece::default());
                assumed.push(name);
            }
        }
        if !assumed.is_empty() {
            reading.notes.push(Note::Assumed(assumed));
        }
        if !self.gated {
            // Two matrices, biases, learned positions: its defaults are GPT-3's.
            reading.add_key("like", "gpt3-175b", Basis::Implied, Piece::default());
        }
    }

    /// Batches that are told for all cards together, as those of one card.
    fn batches(&mut self) {
        let cards = self.world;
        let number = |told: &Self, field: Field| {
            told.found.iter().find(|(known, ..)| *known == field).and_then(|(_, value, _)| value.parse::<u64>().ok())
        };
        // `batch_size // world_size` (ultralytics/engine/trainer.py).
        if self.library == Some(Framework::Ultralytics) && cards > 1 {
            for (_, value, _) in self.found.iter_mut().filter(|(field, ..)| *field == Field::MicroBatch) {
                let whole: u64 = value.parse().unwrap_or(cards);
                *value = (whole / cards).max(1).to_string();
            }
        }
        // It gathers up to 64 pictures before it updates (`nbs` of ultralytics/cfg/default.yaml).
        if self.library == Some(Framework::Ultralytics) {
            let batch = number(self, Field::MicroBatch).unwrap_or(16).max(1).saturating_mul(cards);
            let gathered = ((64 + batch / 2) / batch).max(1);
            self.put(Field::Accumulation, gathered.to_string(), Piece::default());
        }
        if let Some((global, from)) = self.global_batch.take() {
            let cut = |field| number(self, field).unwrap_or(1).max(1);
            let copies = (cards / (cut(Field::Tensor) * cut(Field::Pipeline) * cut(Field::Context)).max(1)).max(1);
            let a_step = copies.saturating_mul(cut(Field::MicroBatch));
            self.put(Field::Accumulation, (global / a_step.max(1)).max(1).to_string(), from);
        }
    }

    /// Batches that a library gathers for one update where nothing is said.
    fn gathered(&self, text: &Text) -> u64 {
        let batch = self.found.iter().find(|(field, ..)| *field == Field::MicroBatch);
        let batch = batch.and_then(|(_, value, _)| value.parse().ok()).unwrap_or(1);
        let at_once = u64::max(1, batch * self.world);
        match self.library {
            // `max(1, math.ceil(16 / self.per_device_train_batch_size / world_size))` (swift/trainers/arguments.py).
            Some(Framework::MsSwift) if !text.small().contains("grpo") => 16_u64.div_ceil(at_once),
            // `global_batch_size=16` of its `TrainArgs`, over devices and micro-batches (litgpt/finetune/lora.py).
            Some(Framework::Litgpt) => (16 / at_once).max(1),
            _ => 1,
        }
    }

    /// Answers that are sampled: the update is worked out over question and answer, and that alone.
    fn sampling(&mut self, text: &Text, reading: &mut Reading) {
        let words = ["grpo", "main_ppo", "ppotrainer", "ppoconfig", "rloo", "num_generations"];
        let samples = self.completion.is_some() || words.iter().any(|word| text.small().contains(word));
        if let Some((completion, from)) = self.completion.take() {
            // TRL's default of `max_prompt_length`.
            let prompt = self.prompt.unwrap_or(512);
            self.put(Field::Sequence, prompt.saturating_add(completion).to_string(), from);
        } else if let Some(prompt) = self.prompt {
            self.put(Field::Sequence, prompt.to_string(), Piece::default());
        }
        if samples {
            reading.notes.push(Note::Sampling);
        }
    }

    fn method(&mut self, text: &Text, domain: Option<Domain>, reading: &mut Reading) {
        let four = self.four_bit.clone().filter(|(on, _)| *on);
        let eight = self.eight_bit.clone().filter(|(on, _)| *on);
        let adapter = self.adapter.clone().filter(|(on, _)| *on);
        let by_words = || {
            let words =
                ["get_peft_model", "loraconfig", "_lora", "lora_", "train_network.py", "networks.lora", "mlx_lm.lora"];
            words.iter().find_map(|word| Some(("lora", text.piece_at(text.small().find(word)?))))
        };
        let stated = self.method.clone().map(|(method, from)| (method, from, Basis::Stated));
        let adapted = adapter.map(|(_, from)| ("lora", from, Basis::Stated));
        let implied = || by_words().map(|(method, from)| (method, from, Basis::Implied));
        let Some((mut method, mut from, basis)) = stated.or(adapted).or_else(implied) else {
            if let Some((_, from)) = four {
                reading.add(Field::Method, "qlora", Basis::Implied, from);
            } else if self.library.is_some_and(|library| library != Framework::Pytorch) {
                reading.add(Field::Method, "full", Basis::Implied, Piece::default());
            }
            return;
        };
        let texts = matches!(domain, Some(Domain::Language | Domain::VisionLanguage) | None);
        let quantized = four.is_some() || self.quantized_name;
        if method == "lora" && quantized && texts {
            method = "qlora";
            from = four.clone().map_or(from, |(_, from)| from);
        }
        if method == "qlora" && self.double {
            reading.add(Field::Base, "nf4-dq", Basis::Stated, from.clone());
        } else if method == "lora" && four.is_some() {
            reading.add(Field::Base, "nf4", Basis::Stated, from.clone());
        }
        if let Some((_, from)) = eight.filter(|_| method == "lora") {
            reading.add(Field::Base, "int8", Basis::Stated, from);
        }
        reading.add(Field::Method, method, basis, from);
    }

    /// Blocks that are swapped as a share of all, and what sd-scripts does with its encoders unasked.
    fn denoiser(&mut self, model: &DiffusionModel, text: &Text, reading: &mut Reading) {
        if let (Some((swapped, from)), Some(all)) = (self.swapped.take(), model.swappable_blocks()) {
            let share = (swapped / all * 100.0).round().min(100.0) / 100.0;
            reading.add(Field::BlockSwap, crate::units::decimal::short(share), Basis::Stated, from);
        }
        let said = |field: Field| self.found.iter().any(|(known, ..)| *known == field);
        if self.library != Some(Framework::Kohya) {
            return;
        }
        if library::reads_caches(text) {
            reading.add(Field::CachedLatents, "on", Basis::Implied, Piece::default());
            reading.add(Field::TextEncoders, "cached", Basis::Implied, Piece::default());
            return;
        }
        if !said(Field::CachedLatents) {
            reading.add(Field::CachedLatents, "off", Basis::Implied, Piece::default());
        }
        if !said(Field::TextEncoders) {
            let adapts = reading.value(Field::Method) == Some("lora");
            let trains = adapts && !self.denoiser_only && model.learns_text();
            let id = if trains { "trained" } else { "resident" };
            reading.add(Field::TextEncoders, id, Basis::Implied, Piece::default());
        }
    }

    fn precision(&mut self, text: &Text, reading: &mut Reading) {
        let adapts = reading.value(Field::Method).is_some_and(|m| m.contains("lora"));
        let divided = self.zero.is_some();
        if let Some((id, from)) = self.pure.take() {
            reading.add(Field::Precision, id, Basis::Stated, from);
        } else if let Some((id, from)) = self.half.take() {
            // Weights loaded in 16 bit stay so; DeepSpeed keeps fp32 masters beside them.
            let id = match id {
                "amp-bf16" if !adapts && divided => "bf16-master",
                "amp-bf16" if !adapts && self.loaded == Some("bf16") => "bf16",
                id => id,
            };
            reading.add(Field::Precision, id, Basis::Stated, from);
        } else if !adapts && self.loaded == Some("bf16") {
            reading.add(Field::Precision, "bf16", Basis::Implied, Piece::default());
        } else if self.library == Some(Framework::Transformers) && self.loaded.is_none() && !adapts {
            let id = if library::halves(text) { "amp-bf16" } else { "fp32" };
            reading.add(Field::Precision, id, Basis::Implied, Piece::default());
        }
    }

    fn sharding(&mut self, reading: &mut Reading) {
        if let Some((cards, from)) = self.cards.take() {
            reading.add(Field::Count, (cards * self.machines).to_string(), Basis::Stated, from);
        }
        let away = self.optimizer_away.take().filter(|(on, _)| *on);
        let weights = self.weights_away.take().filter(|(on, _)| *on);
        if let Some((stage, from)) = self.zero.take() {
            let id = match (stage, weights.is_some()) {
                (0, _) => "ddp",
                (1, _) => "zero1",
                (2, _) => "zero2",
                (_, true) if !self.disk => "zero3-offload",
                _ => "zero3",
            };
            reading.add(Field::Sharding, id, Basis::Stated, from);
        } else if let Some((id, from)) = self.fsdp.take() {
            reading.add(Field::Sharding, id, Basis::Stated, from);
        }
        if let Some((_, from)) = weights.clone().or(away.clone()).filter(|_| self.disk) {
            reading.add(Field::Offload, "nvme", Basis::Stated, from);
        }
        if let Some((_, from)) = away.filter(|_| weights.is_none()) {
            reading.add(Field::Offload, "optimizer", Basis::Stated, from);
        }
    }
}
