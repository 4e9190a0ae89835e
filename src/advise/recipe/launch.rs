//! Lines to run.

use super::{Job, Lines, Recipe};
use crate::project::Framework;

/// `torchrun`, one process a card; accelerate where PyTorch's FSDP divides.
pub(super) fn torchrun(job: &Job<'_>) -> Recipe {
    if job.fsdp() {
        return with_accelerate(job, "train.py");
    }
    Lines::default().line(torchrun_line(job, "train.py")).file("run.sh")
}

/// `torchrun SCRIPT` on the job's cards.
pub(super) fn torchrun_line(job: &Job<'_>, script: &str) -> String {
    let (machines, each) = job.machines();
    if machines > 1 {
        return format!(
            "torchrun --nnodes={machines} --nproc_per_node={each} --rdzv_backend=c10d \\\n    --rdzv_endpoint=$HEAD:29500 {script}"
        );
    }
    format!("torchrun --standalone --nproc_per_node={each} {script}")
}

/// `accelerate launch` with the file beside it.
pub(super) fn with_accelerate(job: &Job<'_>, script: &str) -> Recipe {
    let (machines, _) = job.machines();
    let several =
        if machines > 1 { " --machine_rank $RANK --main_process_ip $HEAD --main_process_port 29500" } else { "" };
    Lines::default().line(format!("accelerate launch --config_file accelerate.yaml{several} {script}")).file("run.sh")
}

pub(super) fn llama_factory(job: &Job<'_>) -> Recipe {
    let (machines, _) = job.machines();
    let one_machine = if job.cards() > 1 { "FORCE_TORCHRUN=1 " } else { "" };
    let several = if machines > 1 {
        format!("NNODES={machines} NODE_RANK=$RANK MASTER_ADDR=$HEAD MASTER_PORT=29500 ")
    } else {
        String::new()
    };
    Lines::default().line(format!("{one_machine}{several}llamafactory-cli train train.yaml")).file("run.sh")
}

pub(super) fn axolotl(job: &Job<'_>) -> Recipe {
    debug_assert_eq!(job.project.framework, Framework::Axolotl);
    Lines::default().line("axolotl train train.yaml").file("run.sh")
}
