// Priority and fairness of an API server: it classifies requests by the FlowSchemas, and limits how
// many requests of each priority level execute at a time.
//
// `FlowControl` keeps the configuration, which it follows, and divides the seats among the levels.
// filter.ts sends each request through it.

import { FLOW_SCHEMAS, PRIORITY_LEVELS } from '#api/groups/flowcontrol/v1/bootstrap.ts';
import {
  flowSchemas as flowSchemaType,
  priorityLevelConfigurations as levelType,
} from '#api/groups/flowcontrol/v1/index.ts';
import type * as flowcontrol from '#api/groups/flowcontrol/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { fnv64a } from '#machinery/text/hash.ts';
import type { Follower } from '../catalog/follow.ts';
import { Classifier } from './classifier.ts';
import type { Flow } from './flow.ts';
import { FlowControlMetrics } from './flow-metrics.ts';
import { divide, type LevelShares, limitsOf } from './limits.ts';
import { type LevelConfig, PriorityLevel, Waiting } from './priority-level.ts';
import type { FlowSchema } from './rules.ts';

type PriorityLevelConfiguration = Immutable<flowcontrol.PriorityLevelConfiguration>;

export interface FlowControlConfig {
  readonly clock: Clock;
  /** The number of requests that execute at a time, over all levels. May be infinite. */
  readonly seats: number;
}

/** The seats are divided anew at most this often. */
const DIVISION_PERIOD_MS = 10_000;
const CATCH_ALL = 'catch-all';

export class FlowControl {
  readonly metrics: FlowControlMetrics;
  readonly #clock: Clock;
  readonly #seats: number;
  readonly #schemas = new Map<string, FlowSchema>();
  readonly #configurations = new Map<string, PriorityLevelConfiguration>();
  #levels: ReadonlyMap<string, PriorityLevel> = new Map();
  #classifier!: Classifier;
  #dividedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor({ clock, seats }: FlowControlConfig) {
    this.#clock = clock;
    this.#seats = seats;
    this.metrics = new FlowControlMetrics(() => this.#levels.values());
    this.#configure();
  }

  get clock(): Clock {
    return this.#clock;
  }

  get classifier(): Classifier {
    return this.#classifier;
  }

  /** Follows the FlowSchemas and priority levels. Resolves when all of them are known. */
  async start(follower: Pick<Follower, 'follow'>): Promise<void> {
    const keep = <T>(objects: Map<string, T>) => ({
      set: (object: KubeObject) => {
        objects.set(object.metadata.name, object as T);
        this.#configure();
      },
      delete: (name: string) => {
        objects.delete(name);
        this.#configure();
      },
    });
    await follower.follow(levelType.group, levelType.resource, keep(this.#configurations));
    await follower.follow(flowSchemaType.group, flowSchemaType.resource, keep(this.#schemas));
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /**
   * Begins requests of components in this process that belong to one flow and are executed
   * together, in one seat. Waits for the seat as long as it takes, as such requests do. Resolves
   * with the function that ends them, called once with the number of those that were executed.
   */
  async beginTogether(flow: Flow, requests: number): Promise<(executed: number) => void> {
    const { level, metrics } = flow;
    const arrived = this.#clock.monotonic();
    const waited = level.tryStart(1, arrived) ? undefined : await this.#seat(flow, requests);
    const start = waited === undefined ? arrived : this.#clock.monotonic();
    metrics.executing += requests;
    metrics.executingSeats += requests;
    return (executed) => {
      const now = this.#clock.monotonic();
      metrics.executing -= requests;
      metrics.executingSeats -= requests;
      metrics.singleSeats += executed;
      metrics.dispatched.value += executed;
      if (waited !== undefined) metrics.waited.observe((start - arrived) / 1000, executed);
      else if (!level.isExempt) metrics.startedAtOnce += executed;
      metrics.executed.observe((now - start) / 1000, executed);
      if (waited === undefined) level.finish(1, now);
      else level.finishWaited(waited, now - start, now);
    };
  }

  /** Waits for one seat. Resolves with what has waited. */
  #seat({ level, metrics, schema }: Flow, requests: number): Promise<Waiting> {
    return new Promise((resolve) => {
      metrics.waiting += requests;
      metrics.waitingSeats += requests;
      const waiting = new Waiting(1, fnv64a(`${schema},`), () => {
        metrics.waiting -= requests;
        metrics.waitingSeats -= requests;
        resolve(waiting);
      });
      this.full();
      const queued = level.wait(waiting, true, this.#clock.monotonic());
      if (typeof queued === 'number') this.metrics.queued(metrics, queued);
    });
  }

  /**
   * Reports that a request finds no free seat. The seats are divided anew, now or later, as long as
   * requests wait.
   */
  full(): void {
    if (this.#timer !== undefined) return;
    const elapsed = this.#clock.monotonic() - this.#dividedAt;
    if (elapsed >= DIVISION_PERIOD_MS) this.#divide();
    const due = this.#dividedAt + DIVISION_PERIOD_MS - this.#clock.monotonic();
    this.#timer = this.#clock.setTimer(due, () => {
      this.#timer = undefined;
      this.#divide();
      if ([...this.#levels.values()].some(({ waiting }) => waiting > 0)) this.full();
    });
  }

  /** Makes levels and flows of the objects. Levels keep their requests. */
  #configure(): void {
    const now = this.#clock.monotonic();
    const configured = [...this.#configurations.values()].map((object) => ({
      name: object.metadata.name,
      uid: object.metadata.uid ?? '',
      spec: object.spec,
    }));
    const mandatory = PRIORITY_LEVELS.filter((level) => level.mandatory)
      .filter(({ name }) => !this.#configurations.has(name))
      .map(({ name, spec }) => ({ name, uid: '', spec }));
    const all = [...configured, ...mandatory];
    const shares = all.map(({ spec }) => sharesOf(spec));
    const total = shares.reduce((sum, each) => sum + each.shares, 0);
    const levels = new Map<string, PriorityLevel>();
    const uids = new Map<string, string>();
    for (const [index, { name, uid, spec }] of all.entries()) {
      const config = levelConfig(name, spec);
      let level = this.#levels.get(name);
      const limits = limitsOf(shares[index]!, total, this.#seats);
      if (level === undefined) {
        level = new PriorityLevel(config, now);
        level.setCurrent(
          Math.max(1, limits.nominal - Math.floor((limits.nominal - limits.min) / 2)),
        );
      } else level.configure(config);
      level.limits = limits;
      levels.set(name, level);
      uids.set(name, uid);
    }
    this.#levels = levels;
    const flows = this.#flows(levels, uids);
    const fallback = flows.find(({ schema }) => schema === CATCH_ALL)!;
    this.#classifier = new Classifier(flows, fallback);
    this.#divide();
  }

  /** Returns the flows in the order of precedence. Schemas without a level are left out. */
  #flows(
    levels: ReadonlyMap<string, PriorityLevel>,
    uids: ReadonlyMap<string, string>,
  ): readonly Flow[] {
    const schemas = [
      ...Array.from(this.#schemas.values(), ({ metadata, spec }) => ({
        name: metadata.name,
        uid: metadata.uid ?? '',
        spec,
      })),
      ...FLOW_SCHEMAS.filter(({ name, mandatory }) => mandatory && !this.#schemas.has(name)).map(
        ({ name, spec }) => ({ name, uid: '', spec }),
      ),
    ];
    return schemas
      .toSorted(
        (a, b) =>
          a.spec.matchingPrecedence - b.spec.matchingPrecedence || (a.name < b.name ? -1 : 1),
      )
      .flatMap(({ name, uid, spec }): Flow[] => {
        const levelName = spec.priorityLevelConfiguration.name;
        const level = levels.get(levelName);
        if (level === undefined) return [];
        return [
          {
            schema: name,
            schemaUid: uid,
            levelUid: uids.get(levelName) ?? '',
            level,
            distinguisher: spec.distinguisherMethod?.type,
            rules: spec.rules ?? [],
            metrics: this.metrics.flow(levelName, name),
          },
        ];
      });
  }

  /** Divides the seats by the demand since the last division. */
  #divide(): void {
    const now = this.#clock.monotonic();
    this.#dividedAt = now;
    const levels = [...this.#levels.values()];
    for (const { demand } of levels) demand.endPeriod(now);
    if (!Number.isFinite(this.#seats)) {
      for (const level of levels) level.setCurrent(this.#seats);
      return;
    }
    const { fraction, targets, current } = divide(
      levels.map(({ isExempt, limits, demand }) => ({
        ...limits,
        isExempt,
        peak: demand.last.peak,
        smoothed: demand.smoothed,
      })),
    );
    this.metrics.fairFraction = fraction;
    for (const [index, level] of levels.entries()) {
      level.target = targets[index]!;
      level.setCurrent(current[index]!);
    }
  }
}

function sharesOf({ limited, exempt }: PriorityLevelConfiguration['spec']): LevelShares {
  const { nominalConcurrencyShares, lendablePercent } = limited ?? exempt ?? {};
  const borrowingLimitPercent = limited?.borrowingLimitPercent ?? undefined;
  return {
    shares: nominalConcurrencyShares ?? 0,
    lendablePercent: lendablePercent ?? 0,
    ...(borrowingLimitPercent !== undefined && { borrowingLimitPercent }),
  };
}

function levelConfig(
  name: string,
  { type, limited }: PriorityLevelConfiguration['spec'],
): LevelConfig {
  const queuing = limited?.limitResponse.queuing;
  return {
    name,
    isExempt: type === 'Exempt',
    ...(queuing !== undefined && {
      queues: {
        queues: queuing.queues,
        handSize: Math.min(queuing.handSize, queuing.queues),
        queueLengthLimit: queuing.queueLengthLimit,
      },
    }),
  };
}
