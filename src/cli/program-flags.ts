// The commands about the program itself: version, completion and compile.

import { Argument, type Command } from 'commander';
import { COXSWAIN_VERSION, KUBERNETES_VERSION } from '#cluster/version.ts';
import type { Build } from './build.ts';
import { completionScript, SHELLS, type Shell } from './completion.ts';
import { outputOption, writeJson } from './inspect/output.ts';

export function addVersion(program: Command): void {
  program
    .command('version')
    .description('print the versions of this program, of Kubernetes, and of Node')
    .addOption(outputOption())
    .action(({ output }: { readonly output?: 'json' }) => {
      const versions = {
        coxswain: COXSWAIN_VERSION,
        kubernetes: KUBERNETES_VERSION.gitVersion,
        node: process.version,
      };
      const { coxswain, kubernetes, node } = versions;
      if (output === 'json') return writeJson(versions);
      process.stdout.write(`coxswain ${coxswain}\nKubernetes ${kubernetes}\nNode ${node}\n`);
    });
}

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .description('print a script that completes commands, flags and values in a shell')
    .addHelpText(
      'after',
      `
Examples:
  $ source <(cox completion bash)                in this shell; put the line into ~/.bashrc for all
  $ source <(cox completion zsh)                 the same for zsh and ~/.zshrc
  $ cox completion fish > ~/.config/fish/completions/cox.fish`,
    )
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell));
    });
}

export function addCompile(program: Command, build?: Build): void {
  program
    .command('compile')
    .description(
      'compile the program ahead of time, for this version and these flags of Node, so that it starts faster',
    )
    .addHelpText(
      'after',
      `
The result is kept beside the program, in a folder that must be writable: for this version of Node
with these flags, and without any flags, as tests that import the package run. npm run build does
this, and so does cox up when it stops, if it was not done before.`,
    )
    .addOption(outputOption())
    .action(async (options) => (await import('./compile.ts')).compile(build, options));
}
