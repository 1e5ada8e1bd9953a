// Explores a controller of ours (src/simulation/explore): a scenario is run undisturbed, and then again and again with one thing going
// wrong, and every time the cluster has to end up the same.
//
//   - stopped after each of its writes in turn, before it sees the answer, and another one started in its place
//   - with a cache that shows nothing until everything else has come to rest, and then all at once
//   - with each of its watch events in turn lost with its connection
//   - with every write answered by a conflict when it is first tried

import type { ResourceType } from '#api/machinery/descriptor.ts';
import { createClient } from '#client/create-client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import {
  describeDisturbance,
  type Disturbance,
  exploreRuns,
  outcomeOf,
  Probe,
  type RunResult,
} from '#simulation/explore/index.ts';
import type { Call } from '#simulation/faults/index.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { startTestCluster } from './test-cluster.ts';
import type { TestCluster, TestClusterConfig } from './test-cluster.ts';

type Make = (config: ControllerConfig) => Controller;

export interface Scenario {
  /** The controller that is put to the test. */
  readonly subject: Make;
  /** Others that it takes, to which nothing happens. */
  readonly others?: readonly Make[];
  /** The steps of the scenario. The cluster settles between steps. */
  readonly steps: readonly ((cluster: TestCluster) => Promise<void>)[];
  /** Kinds whose objects are the outcome. */
  readonly outcome: readonly ResourceType[];
  /**
   * Of the subject's writes those that matter. Default: all. The others are not counted, and nothing is done to them: deletions of
   * all objects of kinds of which there are none.
   */
  readonly counts?: (call: Call) => boolean;
  /** The cluster in which it happens. */
  readonly cluster?: TestClusterConfig;
  /** How long a step is given. Default: '10m', so that every retry has happened. */
  readonly rest?: string;
}

export interface Robustness {
  /** Writes of the subject in the undisturbed run. */
  readonly writes: number;
  /** Watch events that it received. */
  readonly events: number;
  /** The final state of the cluster without faults. */
  readonly outcome: readonly unknown[];
  /** By what went wrong: the outcome. */
  readonly disturbed: ReadonlyMap<string, readonly unknown[]>;
}

/** Run it in a test of its own, and expect every disturbed outcome to equal the undisturbed one. */
export async function disturb(scenario: Scenario): Promise<Robustness> {
  const disturbed = new Map<string, readonly unknown[]>();
  const { size, outcome } = await exploreRuns(
    async (disturbance) => {
      const result = await runWith(scenario, disturbance);
      if (disturbance.kind !== 'none')
        disturbed.set(describeDisturbance(disturbance), result.outcome);
      return result;
    },
    { kinds: ['crash', 'lost event', 'stale cache', 'conflicts'], maxProblems: Infinity },
  );
  return { writes: size.writes, events: size.events, outcome, disturbed };
}

/** The name of the subject, by which its requests are told apart. */
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
