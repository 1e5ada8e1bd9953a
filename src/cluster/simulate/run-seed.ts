// One run of a scenario with one seed: the setup, the actions and the faults in the order of their times, and the
// invariants throughout.

import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { SeededRandom } from '#machinery/random.ts';
import { toMilliseconds } from '#machinery/text/duration.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import type { EmbeddedCluster } from '../embedded/embedded-cluster.ts';
import { simulationOf } from '../embedded/incarnation.ts';
import { startCluster } from '../embedded/start-cluster.ts';
import { CHECK_EVERY_MS, checkAfterWrites } from './checks.ts';
import { INVARIANTS, violations } from './invariants.ts';
import { Ledger } from './ledger.ts';
import type { ScenarioContext, ScenarioInvariant, SimulationScenario } from './scenario.ts';
import { applyFault, drawSchedule, type ScheduledFault } from './schedule.ts';

export interface SeedResult {
  readonly seed: string;
  readonly simulatedMs: number;
  readonly faults: number;
  readonly requests: number;
  /** The hash of the whole history: the same for the same seed. */
  readonly hash: string;
  /** The number of actions that the server has rejected with an error of its own. */
  readonly rejected: number;
  /** The violated invariants, and the errors of the scenario; empty: none. */
  readonly problems: readonly string[];
  readonly schedule: readonly ScheduledFault[];
}

interface Happening {
  readonly atMs: number;
  run(): Promise<void> | void;
}

const DEFAULT_NODES = 3;

/** The schedule of a seed. */
export function scheduleOf(
  scenario: SimulationScenario,
  seed: string,
  withFaults: boolean,
): readonly ScheduledFault[] {
  if (!withFaults) return [];
  return drawSchedule({
    random: new SeededRandom(`${seed}/schedule`),
    durationMs: toMilliseconds(scenario.duration ?? '1h'),
    nodes: scenario.cluster?.nodes ?? DEFAULT_NODES,
    kinds: scenario.faults?.kinds,
    perHour: scenario.faults?.perHour,
  });
}

/** Runs a scenario. What is wrong with the cluster is in the result; rejects only if the cluster cannot be started. */
export async function runSeed(
  scenario: SimulationScenario,
  seed: string,
  schedule: readonly ScheduledFault[],
): Promise<SeedResult> {
  let requests = 0;
  const cluster = await startCluster({
    nodes: DEFAULT_NODES,
    ...scenario.cluster,
    seed,
    hashHistory: true,
    onHistory: () => requests++,
    clock: 'virtual',
  });
  const run = new SeedRun(scenario, cluster, new SeededRandom(`${seed}/scenario`));
  const startedMs = cluster.clock.monotonic();
  try {
    await run.run(schedule);
  } catch (error) {
    run.problems.push(`the scenario failed: ${errorMessage(error)}`);
  }
  const simulatedMs = cluster.clock.monotonic() - startedMs;
  const hash = cluster.historyHash();
  try {
    await cluster.stop();
  } catch (error) {
    run.problems.push(`the cluster did not stop cleanly: ${errorMessage(error)}`);
  }
  const { problems, rejected } = run;
  return {
    seed,
    simulatedMs,
    faults: schedule.length,
    requests,
    hash,
    rejected,
    problems,
    schedule,
  };
}

const isAlways = ({ when = 'always' }: ScenarioInvariant): boolean => when === 'always';

class SeedRun {
  readonly #scenario: SimulationScenario;
  readonly #context: ScenarioContext;
  readonly #ledger = new Ledger();
  readonly problems: string[] = [];
  rejected = 0;

  constructor(
    scenario: SimulationScenario,
    cluster: EmbeddedCluster<VirtualClock>,
    random: SeededRandom,
  ) {
    this.#scenario = scenario;
    this.#context = { cluster, random };
    simulationOf(cluster).interceptor.add(this.#ledger.rule);
    this.#ledger.begin(this.#context);
  }

  async run(schedule: readonly ScheduledFault[]): Promise<void> {
    const { setup, duration = '1h', recovery = '15m', invariants = [] } = this.#scenario;
    const { cluster } = this.#context;
    const { clock } = cluster;
    await whileTimePasses(clock, setup(this.#context));
    const own = [...INVARIANTS, this.#ledger.writesPersist, this.#ledger.budgetsHold];
    const stopChecking = checkAfterWrites({
      clock,
      storage: simulationOf(cluster).storage,
      check: () => this.#check(own.filter(isAlways)),
      onError: (error) => this.problems.push(`the checks failed: ${errorMessage(error)}`),
    });
    const begin = clock.monotonic();
    const durationMs = toMilliseconds(duration);
    try {
      for (const { atMs, run } of this.#happenings(schedule, durationMs)) {
        const wait = begin + atMs - clock.monotonic();
        if (wait > 0) await clock.advance(wait);
        await whileTimePasses(clock, Promise.resolve(run()));
        if (this.problems.length > 0) return;
      }
      cluster.faults.endAll();
      await clock.advance(recovery);
    } finally {
      stopChecking();
    }
    await this.#check([...own, ...invariants]);
  }

  async #check(invariants: readonly ScenarioInvariant[]): Promise<void> {
    this.problems.push(...(await violations(invariants, this.#context)));
  }

  /** Returns everything that happens, in the order of time. */
  #happenings(schedule: readonly ScheduledFault[], durationMs: number): readonly Happening[] {
    const { faults } = this.#context.cluster;
    const happenings: Happening[] = schedule.flatMap((scheduled) => {
      let end: () => void = () => undefined;
      return [
        {
          atMs: scheduled.atMs,
          run: () => {
            const fault = applyFault(faults, scheduled);
            end = () => fault.end();
          },
        },
        { atMs: Math.min(scheduled.atMs + scheduled.durationMs, durationMs), run: () => end() },
      ];
    });
    for (const action of this.#scenario.actions ?? []) {
      const everyMs = toMilliseconds(action.every);
      for (let atMs = everyMs; atMs <= durationMs; atMs += everyMs)
        happenings.push({ atMs, run: () => this.#act(action.run) });
    }
    // Invariants of the scenario may depend on the time.
    const always = (this.#scenario.invariants ?? []).filter(isAlways);
    for (let atMs = CHECK_EVERY_MS; atMs <= durationMs; atMs += CHECK_EVERY_MS)
      if (always.length > 0) happenings.push({ atMs, run: () => this.#check(always) });
    happenings.push({ atMs: durationMs, run: () => undefined });
    return happenings.sort((a, b) => a.atMs - b.atMs);
  }

  async #act(action: (context: ScenarioContext) => Promise<void>): Promise<void> {
    try {
      await action(this.#context);
    } catch (error) {
      // A full disk also meets the scenario's own requests.
      if (!(error instanceof apierrors.StatusError) || error.code < 500) throw error;
      this.rejected++;
    }
  }
}

/**
 * Lets virtual time pass while a promise waits for nothing else: a fault may delay the requests of the scenario, too.
 */
async function whileTimePasses<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const state = { settled: false };
  const settle = (): void => {
    state.settled = true;
  };
  promise.then(settle, settle);
  for (;;) {
    await clock.settle();
    if (state.settled) return promise;
    await clock.advance(100);
  }
}
