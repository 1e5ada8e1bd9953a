// The parts of `npm run torture`, each in two forms: one short enough for every run of the tests,
// and a long one.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { flipBits, tearWrites } from './damage.ts';
import { failSyncs } from './failed-sync.ts';
import { fileLayer, type FileLayer } from './file-layer.ts';
import { type Disturbance, etcdMissing, tortureEtcd } from './etcd.ts';
import { canPartition, canSlowDown } from './etcd-faults.ts';
import { fillDisk } from './full-disk.ts';
import { killRepeatedly } from './kill.ts';
import { exercise } from './linearizable.ts';
import { MUTANTS, MutantStorage } from './mutants.ts';
import { losePower } from './power-loss.ts';
import { serverStops } from './server-stops.ts';

export interface PartOptions {
  readonly short: boolean;
  readonly seed: string;
}

export interface PartResult {
  /** A summary of the run, with numbers. */
  readonly summary: string;
  /** Empty: all guarantees hold. */
  readonly problems: readonly string[];
}

export interface Part {
  readonly name: string;
  /** Returns why the part cannot run here, with the program to install. Undefined: it can. */
  missing?(): string | undefined;
  run(options: PartOptions): Promise<PartResult>;
}

const engine = { clock: systemClock, logger: silentLogger };

/** Runs several histories on stores of their own, each with its seed. */
async function histories(
  options: PartOptions & { readonly runs: number; readonly operations: number },
  open: (run: number) => Promise<Storage>,
): Promise<PartResult> {
  const problems: string[] = [];
  let operations = 0;
  let unknown = 0;
  for (let run = 0; run < options.runs; run++) {
    const storage = await open(run);
    try {
      const seed = `${options.seed}/${run}`;
      const result = await exercise({ operations: options.operations, seed, storage });
      operations += result.operations;
      unknown += result.unknown;
      problems.push(...result.problems.map((problem) => `seed ${seed}: ${problem}`));
    } finally {
      await storage.close();
    }
  }
  return {
    summary: `${operations} operations in ${options.runs} histories, ${unknown} of unknown outcome`,
    problems,
  };
}

const needsLayer = (): string | undefined => {
  const layer = fileLayer();
  return typeof layer === 'string' ? layer : undefined;
};

function theLayer(): FileLayer {
  const layer = fileLayer();
  if (typeof layer === 'string') throw new Error(layer);
  return layer;
}

const ETCD_DISTURBANCES: readonly Disturbance[] = ['deafen', 'kill', 'server', 'deafen', 'pause'];

function repeated<T>(times: number, items: readonly T[]): T[] {
  return Array.from({ length: times }, () => items).flat();
}

async function etcdPart(seed: string, disturbances: readonly Disturbance[]): Promise<PartResult> {
  const { operations, unknown, disturbed, problems } = await tortureEtcd({ seed, disturbances });
  const what = Object.entries(disturbed).map(([name, count]) => `${name} ${count}`);
  return {
    summary: `${operations} operations, ${unknown} of unknown outcome; ${what.join(', ')}`,
    problems,
  };
}

export const PARTS: readonly Part[] = [
  {
    name: 'linearizable: memory',
    run: (options) =>
      histories({ ...options, runs: options.short ? 5 : 200, operations: 1500 }, async () =>
        createMemoryStorage(engine),
      ),
  },
  {
    name: 'linearizable: embedded',
    async run(options) {
      const dir = mkdtempSync(join(tmpdir(), 'torture-history-'));
      try {
        return await histories(
          { ...options, runs: options.short ? 2 : 100, operations: 1500 },
          (run) => openEmbeddedStorage({ ...engine, dataDir: join(dir, String(run)) }),
        );
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  },
  {
    name: 'mutants are caught',
    async run({ short, seed }) {
      const problems: string[] = [];
      const rounds = short ? 3 : 50;
      for (const mutant of MUTANTS) {
        for (let round = 0; round < rounds; round++) {
          const name = `${seed}/${mutant}/${round}`;
          const storage = new MutantStorage(
            createMemoryStorage(engine),
            mutant,
            new SeededRandom(name),
          );
          const result = await exercise({ operations: 2500, seed: name, storage });
          await storage.close();
          if (result.problems.length === 0)
            problems.push(`a store with a ${mutant} was not noticed, seed ${name}`);
        }
      }
      return { summary: `${MUTANTS.length} faults, ${rounds} times each`, problems };
    },
  },
  {
    name: 'kill -9',
    async run({ short, seed }) {
      const layer = fileLayer();
      const { kills, failpoints, acknowledged, problems } = await killRepeatedly({
        kills: short ? partOrWhole(20, 50) : 1000,
        seed,
        layer: typeof layer === 'string' ? undefined : layer,
      });
      const where =
        typeof layer === 'string'
          ? `at random moments only: ${layer}`
          : `half of them at ${failpoints} failpoints`;
      return {
        summary: `${kills} kills (${where}), ${acknowledged} writes acknowledged`,
        problems,
      };
    },
  },
  {
    name: 'power loss',
    missing: needsLayer,
    async run({ short, seed }) {
      const result = await losePower({
        losses: short ? 40 : 2000,
        seed,
        layer: theLayer(),
        sync: true,
      });
      return {
        summary: `${result.losses} losses, ${result.acknowledged} writes acknowledged`,
        problems: result.problems,
      };
    },
  },
  {
    name: 'power loss without syncs is noticed',
    missing: needsLayer,
    async run({ short, seed }) {
      const result = await losePower({
        losses: short ? 5 : 50,
        seed,
        layer: theLayer(),
        sync: false,
      });
      return {
        summary: `${result.failed} of ${result.losses} losses lost writes`,
        problems:
          result.failed > 0
            ? []
            : ['with syncs turned off nothing was lost: the test sees nothing'],
      };
    },
  },
  {
    name: 'failed sync, failed write',
    missing: needsLayer,
    async run({ short, seed }) {
      const { failures, problems } = await failSyncs({
        rounds: short ? 4 : 40,
        seed,
        layer: theLayer(),
      });
      return { summary: `${failures} failures, each ended the writing`, problems };
    },
  },
  {
    name: 'failed sync stops the server',
    missing: needsLayer,
    async run({ short, seed }) {
      // Early failing syncs end the start, later ones a running server.
      const random = new SeededRandom(seed);
      const syncs = short ? [3, 14] : Array.from({ length: 20 }, () => 1 + random.int(30));
      const problems: string[] = [];
      for (const at of syncs) {
        const problem = await serverStops(theLayer(), at);
        if (problem !== undefined) problems.push(`sync ${at} of the log: ${problem}`);
      }
      return { summary: `${syncs.length} failures`, problems };
    },
  },
  {
    name: 'full disk',
    missing: needsLayer,
    async run({ short, seed }) {
      const rounds = short ? 6 : 200;
      const { acknowledged, refused, problems } = await fillDisk({
        rounds,
        seed,
        layer: theLayer(),
      });
      return {
        summary: `full ${rounds} times, ${acknowledged} writes acknowledged, ${refused} refused`,
        problems,
      };
    },
  },
  {
    name: 'torn writes',
    missing: needsLayer,
    async run({ short, seed }) {
      const { cases, problems } = await tearWrites({
        step: short ? 331 : 1,
        transactions: 3,
        seed,
        layer: theLayer(),
      });
      return { summary: `${cases} cuts in the last 3 transactions, each mended`, problems };
    },
  },
  {
    name: 'flipped bits',
    async run({ short, seed }) {
      const { cases, refused, wrong, problems } = await flipBits({ step: short ? 4000 : 1, seed });
      return {
        summary: `${cases} flips, ${refused} refused, wrong values served: ${wrong}`,
        problems,
      };
    },
  },
  {
    name: 'etcd: members killed and paused, answers lost, servers that end between a write and its answer',
    missing: etcdMissing,
    run: ({ short, seed }) =>
      etcdPart(seed, short ? ETCD_DISTURBANCES : repeated(10, ETCD_DISTURBANCES)),
  },
  {
    name: 'etcd: members cut off from each other',
    missing: () =>
      etcdMissing() ??
      (canPartition() ? undefined : 'network namespaces need root and the command ip'),
    run: ({ short, seed }) =>
      etcdPart(seed, short ? ['partition'] : repeated(10, ['partition', 'server'])),
  },
  {
    name: 'etcd: members with a slow disk',
    missing: () =>
      etcdMissing() ??
      (canSlowDown() ? undefined : 'delays of system calls need strace (apt-get install strace)'),
    run: ({ short, seed }) => etcdPart(seed, short ? ['slow'] : repeated(10, ['slow', 'server'])),
  },
];
