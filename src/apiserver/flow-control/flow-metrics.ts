// The metrics of priority and fairness, under upstream's names.

import {
  Counter,
  counterText,
  Family,
  gaugeText,
  Histogram,
  histogramText,
  type Sample,
} from '#machinery/metrics/instruments.ts';
import type { PriorityLevel, Rejection } from './priority-level.ts';

const FLOW = ['priority_level', 'flow_schema'] as const;
const LEVEL = ['priority_level'] as const;
const PREFIX = 'apiserver_flowcontrol_';
const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const QUEUE_LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1000];
const SEATS = [1, 2, 4, 8, 16, 32, 64, 100];

function histograms(
  name: string,
  help: string,
  labels: readonly string[],
  bounds: readonly number[],
): Family<Histogram> {
  return new Family({ name: PREFIX + name, help, labels }, () => new Histogram(bounds));
}

/** The metrics of the requests of one FlowSchema at one priority level. */
export interface FlowMetrics {
  readonly labels: readonly [level: string, schema: string];
  executing: number;
  /** Requests that took one seat: almost all. `text` adds them to `seats`. */
  singleSeats: number;
  /** Requests that did not wait: almost all. `text` adds them to `waited`. */
  startedAtOnce: number;
  executingSeats: number;
  waiting: number;
  waitingSeats: number;
  readonly dispatched: Counter;
  /** The durations of execution. */
  readonly executed: Histogram;
  /** The waiting times of requests that were executed. */
  readonly waited: Histogram;
  readonly seats: Histogram;
}

export class FlowControlMetrics {
  readonly #levels: () => Iterable<PriorityLevel>;
  readonly #flows = new Map<string, FlowMetrics>();
  readonly #dispatched = new Family(
    {
      name: `${PREFIX}dispatched_requests_total`,
      help: 'Requests that were executed.',
      labels: FLOW,
    },
    () => new Counter(),
  );
  readonly #rejected = new Family(
    {
      name: `${PREFIX}rejected_requests_total`,
      help: 'Requests that were rejected, by reason.',
      labels: [...FLOW, 'reason'],
    },
    () => new Counter(),
  );
  readonly #executed = histograms(
    'request_execution_seconds',
    'Seconds of execution; of watches, until they have begun.',
    [...FLOW, 'type'],
    SECONDS,
  );
  readonly #waited = histograms(
    'request_wait_duration_seconds',
    'Seconds that requests have waited for their seats.',
    [...FLOW, 'execute'],
    SECONDS,
  );
  readonly #queueLengths = histograms(
    'request_queue_length_after_enqueue',
    'The length of its queue that each queued request has found, itself included.',
    FLOW,
    QUEUE_LENGTHS,
  );
  readonly #seats = histograms(
    'work_estimated_seats',
    'The seats that requests were estimated to need.',
    FLOW,
    SEATS,
  );
  /** The multiple of its target that each level gets. */
  fairFraction = 0;

  /** Creates the metrics. `levels`: returns the priority levels of the moment. */
  constructor(levels: () => Iterable<PriorityLevel>) {
    this.#levels = levels;
  }

  /** Returns the metrics of a schema's requests. The same names return the same object. */
  flow(level: string, schema: string): FlowMetrics {
    const key = `${level}/${schema}`;
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      flow = {
        labels: [level, schema],
        executing: 0,
        singleSeats: 0,
        startedAtOnce: 0,
        executingSeats: 0,
        waiting: 0,
        waitingSeats: 0,
        dispatched: this.#dispatched.with(level, schema),
        executed: this.#executed.with(level, schema, 'regular'),
        waited: this.#waited.with(level, schema, 'true'),
        seats: this.#seats.with(level, schema),
      };
      this.#flows.set(key, flow);
    }
    return flow;
  }

  queued({ labels }: FlowMetrics, length: number): void {
    this.#queueLengths.with(...labels).observe(length);
  }

  rejected({ labels }: FlowMetrics, reason: Rejection, waitedMs: number): void {
    this.#rejected.with(...labels, reason).value++;
    if (waitedMs > 0) this.#waited.with(...labels, 'false').observe(waitedMs / 1000);
  }

  /** Returns the metrics in Prometheus' text format. */
  text(): string {
    for (const flow of this.#flows.values()) {
      flow.seats.observe(1, flow.singleSeats);
      flow.waited.observe(0, flow.startedAtOnce);
      flow.singleSeats = 0;
      flow.startedAtOnce = 0;
    }
    const ofFlows = (name: string, help: string, value: (flow: FlowMetrics) => number): string =>
      gaugeText(
        { name: PREFIX + name, help, labels: FLOW },
        Array.from(this.#flows.values(), (flow): Sample => [flow.labels, value(flow)]),
      );
    const ofLevels = (
      name: string,
      help: string,
      value: (level: PriorityLevel) => number,
    ): string =>
      gaugeText(
        { name: PREFIX + name, help, labels: LEVEL },
        Array.from(this.#levels(), (level): Sample => [[level.name], value(level)]),
      );
    return [
      counterText(this.#dispatched),
      counterText(this.#rejected),
      histogramText(this.#executed),
      histogramText(this.#waited),
      histogramText(this.#queueLengths),
      histogramText(this.#seats),
      ofFlows('current_executing_requests', 'Requests that execute.', (f) => f.executing),
      ofFlows(
        'current_executing_seats',
        'Seats of requests that execute.',
        (f) => f.executingSeats,
      ),
      ofFlows('current_inqueue_requests', 'Requests that wait.', (f) => f.waiting),
      ofFlows('current_inqueue_seats', 'Seats that requests wait for.', (f) => f.waitingSeats),
      ofLevels('nominal_limit_seats', 'The share of the seats.', (l) => l.limits.nominal),
      ofLevels('lower_limit_seats', 'Seats that are never lent.', (l) => l.limits.min),
      ofLevels('upper_limit_seats', 'Seats with all that may be borrowed.', (l) => l.limits.max),
      ofLevels('current_limit_seats', 'Seats at present.', (l) => l.current),
      ofLevels(
        'demand_seats_high_watermark',
        'The highest demand in the last period.',
        (l) => l.demand.last.peak,
      ),
      ofLevels(
        'demand_seats_average',
        'The average demand in the last period.',
        (l) => l.demand.last.average,
      ),
      ofLevels(
        'demand_seats_stdev',
        'The standard deviation of the demand in the last period.',
        (l) => l.demand.last.deviation,
      ),
      ofLevels('demand_seats_smoothed', 'The smoothed demand.', (l) => l.demand.smoothed),
      ofLevels('target_seats', 'Seats that the level could use.', (l) => l.target),
      gaugeText(
        {
          name: `${PREFIX}seat_fair_frac`,
          help: 'The fraction of its target that each level gets that can use it.',
        },
        [[[], this.fairFraction]],
      ),
    ].join('');
  }
}
