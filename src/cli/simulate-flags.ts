// The flags of `cox simulate`.

import { type Command, InvalidArgumentError } from 'commander';
import { toMilliseconds } from '#machinery/text/duration.ts';
import { outputOption } from './inspect/output.ts';
import type { SimulateFlags } from './simulate.ts';

const seedCount = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 1e9)
    throw new InvalidArgumentError('a whole number from 1 on is needed.');
  return value;
};

const duration = (text: string): string => {
  try {
    if (toMilliseconds(text) > 0) return text;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError("a duration such as '30m' or '8h' is needed.");
};

export function addSimulate(program: Command): void {
  program
    .command('simulate <scenario>')
    .description(
      'run a scenario with many seeds under faults, and check that the cluster stays right',
    )
    .option('--seeds <count>', 'number of seeds', seedCount, 10)
    .option('--seed <seed>', 'the first seed; a number is counted on', '1')
    .option(
      '--for <duration>',
      "begin seeds until this time is over, such as '8h', instead of --seeds",
      duration,
    )
    .option(
      '--processes <count>',
      'processes that run seeds (default: one for each core)',
      seedCount,
    )
    .option('--no-faults', 'inject no faults: only the scenario varies with the seed')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
SCENARIO is rolling-updates, jobs, node-failures, long-run, or a JavaScript or TypeScript module
whose default export is a scenario (docs/exploration.md). It runs on simulated nodes and on virtual
time. A seed that fails is run again with fewer faults, and the smallest set of faults with which
it fails is printed. The same seed gives the same run each time. Exit status 1: a seed has failed.

Examples:
  $ cox simulate rolling-updates                 ten seeds
  $ cox simulate node-failures --for 8h          all night
  $ cox simulate jobs --seed 17 --seeds 1        one seed again
  $ cox simulate ./my-scenario.ts --output json  a scenario of your own`,
    )
    .action(async (scenario: string, options: SimulateFlags) => {
      const { simulate } = await import('./simulate.ts');
      await simulate(scenario, options);
    });
}
