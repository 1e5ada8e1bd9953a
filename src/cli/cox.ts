// The `cox` command: parses arguments, runs one subcommand, and turns errors that a user can act on
// into one line and exit status 1. main.ts runs it from the sources, tools/program/cox.ts runs it
// built.

import { Command } from 'commander';
import { COXSWAIN_VERSION } from '#cluster/version.ts';
import type { Build } from './build.ts';
import { addDown, addReset } from './cluster-flags.ts';
import { describeError } from './describe-error.ts';
import { addEnvtest } from './envtest-flags.ts';
import { HELP_FORMAT } from './help.ts';
import { addInspectCommands } from './inspect/commands.ts';
import { typed } from './own-command.ts';
import { addCompile, addCompletion, addVersion } from './program-flags.ts';
import { addRoleCommands, UPSTREAM_FLAGS } from './role-commands.ts';
import { addRollingUpdateCommand } from './rolling-update-flags.ts';
import { addSimulate } from './simulate-flags.ts';
import { addSnapshot } from './snapshot-flags.ts';
import { addUp } from './up-flags.ts';
import { readArguments } from './upstream/arguments.ts';

/** Runs what the process was asked for. Resolves when it is done; `cox up` ends the process itself. */
export async function runCox(build?: Build): Promise<void> {
  process.on('uncaughtException', endUnlessHandled);
  const status = await execute(process.argv.slice(2), build);
  // Not when everything has ended: after a failure there may be what never does.
  if (status !== 0) process.exit(status);
}

/** Runs a command line and returns its exit status. Errors go to stderr, as `describeError` writes them. */
export async function execute(args: readonly string[], build?: Build): Promise<number> {
  try {
    const program = createProgram(build);
    await program.parseAsync([...upstreamArguments(program, args)], { from: 'user' });
    return 0;
  } catch (error) {
    const { text, status } = describeError(error);
    process.stderr.write(text);
    return status;
  }
}

/** Node would print the line of the program that threw, and the built program has lines of 100 KB. */
function endUnlessHandled(err: unknown): void {
  if (process.listenerCount('uncaughtException') > 1) return;
  const { text, status } = describeError(err);
  process.stderr.write(text);
  process.exit(status);
}

/** The arguments of a command in place of an upstream component, in commander's form. Warnings go to stderr. */
function upstreamArguments(program: Command, args: readonly string[]): readonly string[] {
  const [name = '', ...rest] = args;
  const flags = UPSTREAM_FLAGS.get(name);
  const command = program.commands.find((each) => each.name() === name);
  if (flags === undefined || command === undefined) return args;
  const read = readArguments(rest, flags, command);
  for (const warning of read.warnings) process.stderr.write(`cox: warning: ${warning}\n`);
  return [name, ...read.args];
}

/** All commands with their flags. */
export function createProgram(build?: Build): Command {
  const program = new Command('cox')
    .description('All of Kubernetes in one process.')
    .version(COXSWAIN_VERSION, '-V, --version', 'show the version')
    // A flag after the name of a subcommand is the subcommand's: --version, above all.
    .enablePositionalOptions()
    // Errors are thrown, to be written in one place. The subcommands inherit this, and the format.
    .exitOverride()
    .configureHelp(HELP_FORMAT)
    .helpOption('-h, --help', 'show this help')
    .configureOutput({
      writeOut: (text) => process.stdout.write(typed(text)),
      outputError: () => undefined,
    });

  program.commandsGroup('A cluster:');
  addUp(program, build);
  addDown(program);
  addReset(program);
  addSnapshot(program);
  program.commandsGroup('What is in it, and why:');
  addInspectCommands(program);
  addRollingUpdateCommand(program);
  program.commandsGroup('Tests:');
  addSimulate(program);
  addEnvtest(program);
  program.commandsGroup("In the place of Kubernetes' components:");
  addRoleCommands(program);
  program.commandsGroup('This program:');
  addVersion(program);
  addCompletion(program);
  addCompile(program, build);
  program.helpCommand('help [command]', 'show the help of a command');
  return program;
}
