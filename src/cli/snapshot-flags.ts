// The flags of `cox snapshot`.

import { type Command, InvalidArgumentError } from 'commander';
import { dataDirOption } from './flags.ts';
import { outputOption } from './inspect/output.ts';

const revisions = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 1e15)
    throw new InvalidArgumentError('a number of revisions is a whole number.');
  return value;
};

export function addSnapshot(program: Command): void {
  const snapshot = program
    .command('snapshot')
    .description(
      'save, check and restore the state of a cluster with an embedded store, in one file',
    )
    .addHelpText(
      'after',
      `
A snapshot is the value of every object at one revision, with a checksum. It is taken while the
cluster runs, or while it does not. Certificates and keys are not in it: keep DATA-DIR/pki as
well, and the file of --encryption-provider-config if there is one.

Examples:
  $ cox snapshot save backup.snap                of the cluster in ./.coxswain
  $ cox snapshot status backup.snap              whether it is whole, and what is in it
  $ cox down && cox snapshot restore backup.snap && cox up`,
    );

  snapshot
    .command('save <file>')
    .description('write a snapshot to FILE, which appears only once all of it is on the disk')
    .addOption(dataDirOption())
    .addOption(outputOption())
    .action(async (file, options) => (await import('./snapshot.ts')).save(file, options));

  snapshot
    .command('status <file>')
    .description('read all of FILE and print what is in it; exit status 1 if it is damaged')
    .addOption(outputOption())
    .action(async (file, options) => (await import('./snapshot.ts')).status(file, options));

  snapshot
    .command('restore <file>')
    .description(
      'make FILE the store of a stopped cluster; its present store is moved aside, not removed',
    )
    .addOption(dataDirOption('the data directory of the cluster; created if it does not exist'))
    .option(
      '--bump-revision <count>',
      'number of revisions to add, so that clients with newer ones notice',
      revisions,
      0,
    )
    .addOption(outputOption())
    .action(async (file, options) => (await import('./snapshot.ts')).restore(file, options));
}
