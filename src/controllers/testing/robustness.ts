// Explores a controller of ours (src/simulation/explore): a scenario runs without faults, and then
// once for each possible fault. Every run must end in the same state.
//
// The faults, of which `npm test` tries a part and every night all:
// - The controller crashes after each of its writes in turn, before it sees the response, and a new
//   one is started.
// - Its cache shows nothing until the other components are idle, and then everything at once.
// - Each of its watch events in turn is lost with its connection.
// - Each write fails with a conflict at its first attempt.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import { createClient } from '#client/create-client.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import {
  describeDisturbance,
  type Disturbance,
  exploreRuns,
  outcomeOf,
  Probe,
  type RunResult,
  type RunSize,
} from '#simulation/explore/index.ts';
import type { Call } from '#simulation/faults/index.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { startTestCluster, type TestCluster, type TestClusterConfig } from './test-cluster.ts';

type Make = (config: ControllerConfig) => Controller;

export interface Scenario {
  /** The controller under test. */
  readonly subject: Make;
  /** Other controllers that the scenario needs, without faults. */
  readonly others?: readonly Make[];
  /** The steps of the scenario. The cluster settles between steps. */
  readonly steps: readonly ((cluster: TestCluster) => Promise<void>)[];
  /** Kinds whose objects are the outcome. */
  readonly outcome: readonly ResourceType[];
  /**
   * Selects the subject's writes that count. Default: all. Other writes get no faults, for example
   * deletions of all objects of a kind that has none.
   */
  readonly counts?: (call: Call) => boolean;
  /** The configuration of the cluster. */
  readonly cluster?: TestClusterConfig;
  /** The time after each step. Default: '10m', so that every retry has happened. */
  readonly rest?: string;
}

export interface Robustness {
  /** The number of the subject's writes in the run without faults. */
  readonly writes: number;
  /** The number of watch events that it received. */
  readonly events: number;
  /** The final state of the cluster without faults. */
  readonly outcome: readonly unknown[];
  /** By fault: the final state. */
  readonly disturbed: ReadonlyMap<string, readonly unknown[]>;
}

/**
 * Runs the scenario. Use it in a test of its own, and expect every disturbed outcome to equal the
 * undisturbed one.
 */
export async function disturb(scenario: Scenario): Promise<Robustness> {
  const disturbed = new Map<string, readonly unknown[]>();
  let calm: RunResult | undefined;
  const { size, outcome } = await exploreRuns(
    async (disturbance) => {
      if (calm !== undefined && !isTried(disturbance, calm.size)) return calm;
      const result = await runWith(scenario, disturbance);
      if (disturbance.kind === 'none') calm = result;
      else disturbed.set(describeDisturbance(disturbance), result.outcome);
      return result;
    },
    { kinds: ['crash', 'lost event', 'stale cache', 'conflicts'], maxProblems: Infinity },
  );
  return { writes: size.writes, events: size.events, outcome, disturbed };
}

/** At most so many crashes and lost events of a scenario are tried, spread over all of them. */
const TRIED = partOrWhole(8, Infinity);

function isTried(disturbance: Disturbance, { writes, events }: RunSize): boolean {
  switch (disturbance.kind) {
    case 'crash':
      return isSample(disturbance.write, writes);
    case 'lost event':
      return isSample(disturbance.event, events);
    default:
      return true;
  }
}

/** Reports whether a number from 1 to `count` is one of the TRIED that are tried. */
const isSample = (number: number, count: number): boolean =>
  count <= TRIED ||
  Math.floor((number * TRIED) / count) > Math.floor(((number - 1) * TRIED) / count);

/** The name of the subject, by which its requests are recognized. */
const SUBJECT = 'subject';

async function runWith(scenario: Scenario, disturbance: Disturbance): Promise<RunResult> {
  const cluster = await startTestCluster(scenario.cluster);
  let crash: () => void = () => undefined;
  const probe = new Probe({
    disturbance,
    isSubject: (component) => component === SUBJECT,
    counts: (call) => call.verb === 'watch' || scenario.counts?.(call) !== false,
    onCrash: () => crash(),
    currentRevision: () => cluster.storage.currentRevision(),
  });
  cluster.interceptor.add(probe.rule);
  try {
    const subject = runSubject(cluster, scenario.subject);
    crash = subject.crash;
    for (const make of scenario.others ?? []) await cluster.run(make);
    for (const step of scenario.steps) {
      probe.beginStep();
      await step(cluster);
      await cluster.clock.advance('5s');
      probe.release();
      await cluster.clock.advance(scenario.rest ?? '10m');
    }
    await subject.stop();
    const { writes, events, steps } = probe;
    return {
      // One stale cache, for all events of each step.
      size: { writes, events, steps, eventsOfStep: 1 },
      outcome: await outcomeOf(cluster.client, scenario.outcome),
    };
  } finally {
    await cluster.stop();
  }
}

/** Runs the subject, and another one whenever it crashes. */
function runSubject(cluster: TestCluster, make: Make): { stop(): Promise<void>; crash(): void } {
  const { clock, logger, random, controllers, interceptor } = cluster;
  let ended = false;
  let current: Promise<void> = Promise.resolve();
  let stopCurrent: () => void = () => undefined;
  let crashCurrent: () => void = () => undefined;
  const start = (): void => {
    const stop = new AbortController();
    stopCurrent = () => stop.abort();
    const own = { name: '' };
    const client = createClient(controllers.controller(() => own.name, SUBJECT));
    const informers = new SharedInformerFactory({
      client: createClient(controllers.manager(SUBJECT)),
      clock,
      random,
      logger,
      detectMutations: true,
    });
    const controller = make({ client, informers, clock, random, logger });
    own.name = controller.name;
    informers.start(stop.signal);
    const run = controller.run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    crashCurrent = () => {
      // Nothing that it still tries reaches the server.
      const connect = interceptor.sever(SUBJECT);
      stop.abort();
      current = Promise.all([current, run, informers.stopped()]).then(() => {
        connect();
        if (!ended) start();
      });
    };
    current = run;
  };
  start();
  return {
    crash: () => crashCurrent(),
    async stop() {
      ended = true;
      stopCurrent();
      await current;
    },
  };
}
