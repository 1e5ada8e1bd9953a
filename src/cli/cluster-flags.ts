// The flags of `cox down` and `cox reset`.

import type { Command } from 'commander';
import { dataDirOption } from './flags.ts';
import { outputOption } from './inspect/output.ts';

export function addDown(program: Command): void {
  program
    .command('down')
    .description('stop a cluster that runs in the background; its data stays')
    .addOption(dataDirOption())
    .option(
      '--clean',
      'also end its pods, and remove rules, addresses, bridges and routes from this machine, ' +
        'those of killed clusters, too; if it does not run, only that',
    )
    .addOption(outputOption())
    .action(async (options) => {
      const { down } = await import('./down.ts');
      await down(options);
    });
}

export function addReset(program: Command): void {
  program
    .command('reset')
    .description(
      "remove a stopped cluster from this machine: its pods' processes, networks and mounts, and all of its data",
    )
    .addOption(dataDirOption())
    .option('--root-dir <dir>', 'the directory that was given to up or kubelet as --root-dir')
    .option('--stop', 'stop the cluster first if it runs')
    .option('-y, --yes', 'do not ask')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
It also cleans up after a crash, and can be repeated. Only directories that a cluster has made
are touched; other files in them stay, and so does the entry of up --merge-kubeconfig. Pods of a
node with --container-runtime-endpoint stay in that runtime.

Examples:
  $ cox reset                                    asks, then removes the cluster in ./.coxswain
  $ cox reset --stop --yes --data-dir /tmp/demo  without a question, also if the cluster runs`,
    )
    .action(async (options) => {
      const { reset } = await import('./reset.ts');
      await reset(options);
    });
}
