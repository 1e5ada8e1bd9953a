// `cox simulate`: runs a scenario with many seeds.

import {
  loadScenario,
  runSeed,
  scheduleOf,
  simulate as simulateSeeds,
  type SimulationReport,
} from '#cluster/simulate/index.ts';
import {
  defaultProcesses,
  serveSeeds,
  startProcesses,
  WORKER_VARIABLE,
} from './simulate-processes.ts';
import { writeJson } from './inspect/output.ts';
import { systemClock } from '#machinery/clock.ts';
import { toMilliseconds } from '#machinery/text/duration.ts';

export interface SimulateFlags {
  readonly seed: string;
  readonly seeds: number;
  readonly faults: boolean;
  readonly processes?: number;
  readonly for?: string;
  readonly output?: 'json';
}

/** Runs the scenario. Sets exit status 1 if a seed fails. Throws UserError for a scenario that is none. */
export async function simulate(name: string, flags: SimulateFlags): Promise<void> {
  const scenario = loadScenario(name);
  const { seed, faults } = flags;
  const run = (each: string) => runSeed(scenario, each, scheduleOf(scenario, each, faults));
  if (process.env[WORKER_VARIABLE] !== undefined) return serveSeeds(run);
  const seeds = flags.for === undefined ? flags.seeds : Number.MAX_SAFE_INTEGER;
  const count = Math.min(flags.processes ?? defaultProcesses(), seeds);
  const asJson = flags.output === 'json';
  const processes = count > 1 ? startProcesses(count, process.argv.slice(2)) : undefined;
  const interrupted = new AbortController();
  // A second Ctrl-C ends the process.
  process.once('SIGINT', () => interrupted.abort());
  try {
    const report = await simulateSeeds({
      scenario,
      seed,
      seeds,
      faults,
      clock: systemClock,
      ...(flags.for !== undefined && { limitMs: toMilliseconds(flags.for) }),
      signal: interrupted.signal,
      ...(processes !== undefined && { workers: processes.runners }),
      onResult: ({ seed: each, problems }) => {
        if (problems.length > 0) process.stderr.write(`seed ${each} failed: ${problems[0]}\n`);
      },
    });
    if (asJson) writeJson(report);
    else process.stdout.write(described(report, name));
    if (report.failures.length > 0) process.exitCode = 1;
  } finally {
    processes?.stop();
  }
}

function described(report: SimulationReport, name: string): string {
  const rows = [
    ['scenario', report.scenario],
    ['seeds', String(report.seeds)],
    ['simulated', `${(report.simulatedSeconds / 3600).toFixed(1)} h`],
    [
      'in',
      `${report.realSeconds.toFixed(1)} s: ${report.simulatedYearsPerHour.toFixed(2)} years an hour`,
    ],
    ['faults', String(report.faults)],
    ['requests', String(report.requests)],
    ['failures', String(report.failures.length)],
  ];
  const head = rows.map(([field = '', value]) => `  ${field.padEnd(10)} ${value}\n`).join('');
  const failures = report.failures.map(
    ({ seed, problems, schedule }) =>
      `\nseed ${seed} failed:\n${problems.map((problem) => `  ${problem}\n`).join('')}` +
      `with the faults\n${schedule.length === 0 ? '  (none)\n' : schedule.map((line) => `  ${line}\n`).join('')}` +
      `again: cox simulate ${name} --seed ${seed} --seeds 1\n`,
  );
  return head + failures.join('');
}
