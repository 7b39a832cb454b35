"""Start and stop Odysseus: `python server.py`, or one of its commands: `model`, `backup`, `restore`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from odysseus.errors import OdysseusError

ROOT = Path(__file__).resolve().parent
CONFIG = ROOT / "config.toml"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; gives the exit code: 0, or 2 for what the user has to mend."""
    args = parse(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(
        stream=sys.stderr, level=args.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        return run(args)
    except OdysseusError as error:
        print(f"odysseus: {error.message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    from odysseus.archive import command as archive
    from odysseus.models import command

    parser = argparse.ArgumentParser(prog="server.py", description="Odysseus, a local AI workspace.")
    parser.add_argument("--config", type=Path, help="settings file (default: config.toml beside server.py)")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port; 0 picks a free one (default: 8000)")
    parser.add_argument("--data", type=Path, help="folder of the database and the models")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument("--ready-file", type=Path, help="file that gets the ready line's JSON")
    parser.add_argument("--token-env", metavar="NAME", help="environment variable that holds the access token")
    parser.add_argument("--parent-pid", type=process_id, metavar="PID", help="stop when this process ends")
    parser.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    command.add_parser(commands)
    archive.add_parsers(commands)
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> int:
    """Carry the command out. Raises OdysseusError for what the user has to mend."""
    from odysseus.app import MODELS
    from odysseus.archive import command as archive
    from odysseus.config import load_config
    from odysseus.launch import Launch, data_folder, only_instance, serve
    from odysseus.tools.environment import seal_process

    path = args.config or (CONFIG if CONFIG.exists() else None)
    config = load_config(path, os.environ, {"server": _given(args, "host", "port")})
    data = data_folder(args.data or (path.resolve().parent if path else ROOT) / config.server.data)
    if args.command == "model":
        from odysseus.models import command

        return command.run(args, data / MODELS, config.local.model)
    if args.command in archive.COMMANDS:
        with only_instance(data) if args.command == "restore" else nullcontext():
            return archive.run(args, data)
    keys = {endpoint.api_key_env for endpoint in config.endpoints}
    seal_process(keys | {config.web.brave_key_env, args.token_env or ""})
    launch = Launch(data, args.ready_file, args.token_env, args.parent_pid, args.open)
    return asyncio.run(serve(config, launch))


def process_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 11 and 0 < int(text) < 2**31):
        raise argparse.ArgumentTypeError("expected the number of a process")
    return int(text)


def _given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(args, name)) is not None}


if __name__ == "__main__":
    sys.exit(main())
