"""Lets the real tools read the ready files: one line a folder, and a count at the end.

check.py FOLDER: every folder in it is called LIBRARY--WHAT and holds the files of one project. A tool that is not
installed is told and passed over; a file that its tool refuses fails.
"""

import argparse
import ast
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shlex
import sys
import traceback

# No tool is to look for models or to tell anyone about this.
os.environ.update(HF_HUB_OFFLINE="1", WANDB_DISABLED="true", DO_NOT_TRACK="1", AXOLOTL_DO_NOT_TRACK="1", YOLO_OFFLINE="true")
# Only its argument classes are read here, and those stay the same with a newer transformers.
os.environ["DISABLE_VERSION_CHECK"] = "1"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


class Missing(Exception):
    """A tool that is not there."""


def tool(name):
    """The module, or Missing with the reason why it cannot be used."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # Some packages fail in ways of their own where there is no card.
        raise Missing(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from error


def machine_without_cards():
    """bf16 and fp16 are checked against the card that there is; here there is none."""
    utils = tool("transformers.training_args")
    for name in ("is_torch_bf16_gpu_available", "is_torch_tf32_available"):
        if hasattr(utils, name):
            setattr(utils, name, lambda *_: True)


def calls(text):
    """The keyword arguments of every call in a script, by the name that is called."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found.setdefault(name, node)
    return found


def arguments(node, names):
    """The values of a call's keyword arguments; torch's formats are looked up in `names`."""
    values = {}
    for keyword in node.keywords:
        code = compile(ast.Expression(keyword.value), "recipe", "eval")
        values[keyword.arg] = eval(code, dict(names))  # The file was written by this project a moment ago.
    return values


def fields(kind, given):
    """Fails where a class has no field of that name: dataclasses of these libraries take no others."""
    unknown = [name for name in given if name not in kind.__dataclass_fields__]
    assert not unknown, f"{kind.__name__} has no {unknown}"


def deepspeed_json(text):
    config = json.loads(text)
    runtime = tool("deepspeed.runtime.zero.config")
    zero = {key: value for key, value in config["zero_optimization"].items() if value != "auto"}
    model = runtime.DeepSpeedZeroConfig(**zero)
    unknown = [key for key in zero if key not in type(model).model_fields]
    known = {field.alias for field in type(model).model_fields.values()}
    assert not [key for key in unknown if key not in known], f"ZeRO has no {unknown}"
    # What the Hugging Face integration fills in where it says "auto".
    whole = tool("transformers.integrations.deepspeed")
    whole.HfTrainerDeepSpeedConfig(config)


def accelerate_yaml(path):
    config = tool("accelerate.commands.config.config_args").load_config_from_file(str(path))
    launch = tool("accelerate.commands.launch")
    parser = launch.launch_command_parser()
    arguments = parser.parse_args(["--config_file", str(path), "train.py"])
    # It takes what it does not know without a word.
    unknown = [key for key in config.fsdp_config or {} if not hasattr(arguments, key)]
    assert not unknown, f"accelerate has no {unknown}"
    launch._validate_launch_command(arguments)
    plugin = tool("accelerate.utils").FullyShardedDataParallelPlugin
    environment = tool("accelerate.utils.launch").prepare_multi_gpu_env(arguments)
    # The plugin asks for the card that weights are put on.
    classes, torch = tool("accelerate.utils.dataclasses"), tool("torch")
    classes.is_cuda_available, torch.cuda.current_device = lambda *_: True, lambda: 0
    before = dict(os.environ)
    os.environ.update({key: value for key, value in environment.items() if key.startswith(("FSDP", "ACCELERATE"))})
    try:
        plugin()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return config


def trainer_script(folder, text):
    machine_without_cards()
    transformers, torch = tool("transformers"), tool("torch")
    found = calls(text)
    here = pathlib.Path.cwd()
    os.chdir(folder)
    try:
        given = arguments(found["TrainingArguments"], {})
        fields(transformers.TrainingArguments, given)
        if given.get("deepspeed"):
            tool("deepspeed")
        transformers.TrainingArguments(**{key: value for key, value in given.items() if key != "deepspeed"})
    finally:
        os.chdir(here)
    if "BitsAndBytesConfig" in found:
        tool("bitsandbytes")
        transformers.BitsAndBytesConfig(**arguments(found["BitsAndBytesConfig"], {"torch": torch}))
    if "LoraConfig" in found:
        tool("peft").LoraConfig(**arguments(found["LoraConfig"], {}))
    for name in imported(text, "transformers"):
        assert hasattr(transformers, name), f"transformers has no {name}"
    for name in imported(text, "peft"):
        assert hasattr(tool("peft"), name), f"peft has no {name}"


def imported(text, package):
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.module == package]
    return [alias.name for node in nodes for alias in node.names]


def unsloth_script(text):
    machine_without_cards()
    trl = tool("trl")
    found = calls(text)
    for name in imported(text, "trl"):
        assert hasattr(trl, name), f"trl has no {name}"
        if name.endswith("Config"):
            given = arguments(found[name], {})
            fields(getattr(trl, name), given)
            getattr(trl, name)(**given)
    # Unsloth itself refuses to be imported without a card.


def llama_factory_yaml(folder, path):
    parser = tool("llamafactory.hparams.parser")
    config = tool("yaml").safe_load(path.read_text())
    config.pop("deepspeed", None)
    machine_without_cards()
    # Read from its source: importing it would want every library for sound and film.
    source = pathlib.Path(tool("llamafactory").__file__).parent / "data" / "template.py"
    assert f'name="{config["template"]}"' in source.read_text(), f"LLaMA-Factory has no template {config['template']}"
    # Its own checks ask for cards and installed extras; the arguments alone are read here.
    kinds = parser._TRAIN_ARGS
    given = tool("transformers").HfArgumentParser(kinds).parse_dict(config, allow_extra_keys=False)
    assert given


def axolotl_yaml(path):
    schema = tool("axolotl.utils.schemas.config").AxolotlInputConfig
    config = tool("yaml").safe_load(path.read_text())
    unknown = [key for key in config if key not in schema.model_fields]
    assert not unknown, f"Axolotl has no {unknown}"
    schema(**config)


def command(text):
    return shlex.split(text.replace("\\\n", " "))


def ultralytics_command(text):
    cfg = tool("ultralytics.cfg")
    words = command(text)
    assert words[0] == "yolo" and words[1] in cfg.TASKS and words[2] in cfg.MODES, words[:3]
    given = dict(cfg.parse_key_value_pair(word) for word in words[3:])
    cfg.get_cfg(overrides=given)
    tool("ultralytics.nn.tasks").yaml_model_load(given["model"].replace(".pt", ".yaml"))


def accelerate_line(words):
    parser = tool("accelerate.commands.launch").launch_command_parser()
    at = next(k for k, word in enumerate(words) if word.endswith(".py"))
    parser.parse_args([word.replace("$RANK", "0") for word in words[2 : at + 1]])
    return words[at], words[at + 1 :]


def script_of(name):
    """A script of diffusers' or sd-scripts' own, from the folder that SCRIPTS names."""
    folder = os.environ.get("SCRIPTS")
    found = [path for path in pathlib.Path(folder).rglob(name)] if folder else []
    if not found:
        raise Missing(f"{name}: in no package; set SCRIPTS to a folder with the repository")
    return found[0]


def options_in(path):
    """The options that a script's argparse declares, read from its source: importing it would want a card."""
    declared = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            declared.update(a.value for a in node.args if isinstance(a, ast.Constant) and str(a.value).startswith("--"))
    return declared


def picture_command(text):
    name, options = accelerate_line(command(text))
    script = script_of(name)
    declared = options_in(script)
    if name.endswith(("_network.py", "fine_tune.py", "sdxl_train.py", "flux_train.py", "sd3_train.py")):
        # sd-scripts declares most of its options in its library.
        for path in (script.parent / "library").glob("*.py"):
            declared |= options_in(path)
        for path in script.parent.glob("train_network.py"):
            declared |= options_in(path)
    unknown = [option for option in (o.split("=")[0] for o in options) if option not in declared]
    assert not unknown, f"{name} has no {unknown}"


def megatron_command(text):
    words = command(text)
    at = words.index("pretrain_gpt.py")
    script = script_of("arguments.py")
    declared = options_in(script)
    unknown = [word for word in words[at + 1 :] if word.startswith("--") and word not in declared]
    assert not unknown, f"Megatron-LM has no {unknown}"


def checks(folder):
    """What there is to check in a folder: a name and something to call."""
    library = folder.name.split("--")[0]
    for path in sorted(folder.iterdir()):
        text = path.read_text()
        name = path.name
        if name == "ds_config.json":
            yield name, lambda text=text: deepspeed_json(text)
        elif name == "accelerate.yaml":
            yield name, lambda path=path: accelerate_yaml(path)
        elif name == "train.py" and library == "unsloth":
            yield name, lambda text=text: unsloth_script(text)
        elif name == "train.py":
            yield name, lambda text=text: trainer_script(folder, text)
        elif name == "train.yaml" and library == "llama-factory":
            yield name, lambda path=path: llama_factory_yaml(folder, path)
        elif name == "train.yaml":
            yield name, lambda path=path: axolotl_yaml(path)
        elif library == "ultralytics":
            yield name, lambda text=text: ultralytics_command(text)
        elif library == "megatron":
            yield name, lambda text=text: megatron_command(text)
        elif library in ("diffusers", "kohya"):
            yield name, lambda text=text: picture_command(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--library", action="append", help="only these; several times")
    options = parser.parse_args()
    passed, failed, missing = 0, 0, {}
    for folder in sorted(options.folder.iterdir()):
        if options.library and folder.name.split("--")[0] not in options.library:
            continue
        for name, check in checks(folder):
            said = io.StringIO()
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    check()
                passed += 1
            except Missing as reason:
                missing[str(reason)] = missing.get(str(reason), 0) + 1
            except BaseException as error:  # argparse ends the program.
                failed += 1
                print(f"FAILED {folder.name}/{name}: {type(error).__name__}: {error}")
                tail = said.getvalue().strip().splitlines()[-3:]
                for line in tail or traceback.format_exc().splitlines()[-3:]:
                    print(f"    {line}")
    for reason, count in missing.items():
        print(f"skipped {count}: {reason}")
    print(f"recipes: {passed} passed, {failed} failed, {sum(missing.values())} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
