// `npm run versus`: runs the same loads on a cluster of ours and on upstream's programs, in turns,
// and reports the ratio of each figure.

import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { UserError } from '#cluster/user-error.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { systemClock } from '#machinery/clock.ts';
import { nodeAt, NODE_PROGRAM } from '../node-program.ts';
import { note } from '../report.ts';
import { Stolen } from '../stolen.ts';
import { deploy, idle, load, schedule, watch, type Results } from './measures.ts';
import { oursWith } from './ours.ts';
import { ensurePrograms } from './programs.ts';
import { chart, compare, document, table } from './report.ts';
import { SCHEDULED_ON, scheduledKey } from './rows.ts';
import type { RunningSide, Side } from './side.ts';
import { upstreamSide } from './upstream.ts';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('it must be a whole number from 1 on.');
  return value;
}

/** Starts the side, runs the measures one after the other, and stops it. */
async function withSide(
  side: Side,
  measures: readonly ((running: RunningSide) => Promise<Results>)[],
): Promise<Results> {
  const running = await side.start();
  try {
    let results: Results = { ready: running.readyMs / 1000 };
    for (const measure of measures) results = { ...results, ...(await measure(running)) };
    return results;
  } finally {
    await running.stop();
  }
}

/** Runs all measures once on one side: three clusters, one after the other. */
async function round(side: Side): Promise<Results> {
  let results = await withSide(side, [idle, load, watch]);
  for (const [index, nodes] of SCHEDULED_ON.entries()) {
    const measure = async (running: RunningSide): Promise<Results> => ({
      [scheduledKey(nodes)]: await schedule(running, nodes),
    });
    results = {
      ...(await withSide(side, index === 0 ? [measure, deploy] : [measure])),
      ...results,
    };
  }
  return results;
}

interface Options {
  readonly rounds: number;
  readonly record: boolean;
  /** Paths of further versions of Node. */
  readonly node: readonly string[];
}

async function versus({ rounds, record, node }: Options): Promise<void> {
  const nodes = [NODE_PROGRAM, ...node].map(nodeAt);
  const programs = ensurePrograms(note);
  const upstream = { side: upstreamSide(programs), results: [] as Results[] };
  const ours = nodes.map((each) => ({ side: oursWith(each), results: [] as Results[] }));
  const stolen = new Stolen();
  for (let i = 0; i < rounds; i++) {
    for (const { side, results } of [...ours, upstream]) {
      note(`round ${i + 1} of ${rounds}: ${side.name}`);
      results.push(await round(side));
    }
  }
  const comparisons = compare(
    ours.map(({ results }) => results),
    upstream.results,
  );
  const versions = nodes.map(({ version }) => version);
  console.log(table(comparisons, versions));
  if (!record) return;
  const text = document(comparisons, {
    ...programs.versions,
    nodes: versions,
    driver: process.version,
    processors: availableParallelism(),
    rounds,
    stolen: stolen.percent(),
    date: new Date(systemClock.now()).toISOString().slice(0, 10),
  });
  writeFileSync(`${DOCS}versus.md`, text);
  writeFileSync(`${DOCS}versus.svg`, chart(comparisons, versions));
  note('docs/versus.md and docs/versus.svg are written');
}

await new Command('npm run versus --')
  .description(
    "Compares a cluster of this project with upstream's programs, which are built from their " +
      'Go modules (Go 1.26, once some minutes).',
  )
  .option('--rounds <number>', 'how often each side is measured', positive, 3)
  .option('--record', 'write docs/versus.md and its chart', false)
  .option(
    '--node <path>',
    'of another Node, for a column of its own, as often as need be',
    (path: string, paths: readonly string[]) => [...paths, path],
    [],
  )
  .action(async (options: Options) => {
    try {
      await versus(options);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      console.error(`versus: ${errorMessage(error)}`);
      process.exitCode = 1;
    }
  })
  .parseAsync();
