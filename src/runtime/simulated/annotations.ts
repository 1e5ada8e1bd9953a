// Annotations by which a pod controls its own simulation. Every key is
// `simulation.coxswain.dev/NAME`; with `.CONTAINER` appended it applies to that container only, and
// takes precedence over the pod's. An invalid value is an error when the container is created,
// because a simulation that silently ignores it would be misleading.

import { CriError } from '#cri/index.ts';
import type { ImageSimulation } from '../named-images.ts';
import { missingImageError } from './missing-images.ts';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import { tryParseQuantity } from '#machinery/text/quantity.ts';
import { constantUsage, type UsageSchedule, type UsageStep } from './usage-schedule.ts';

export const annotationPrefix = 'simulation.coxswain.dev/';

type Annotations = Readonly<Record<string, string>>;

export interface ContainerSimulation {
  /** `start-delay`: how long starting the container takes. */
  readonly startDelayMs: number;
  /** `start-error`: starting fails with this message. */
  readonly startError: string | undefined;
  /** `run-duration`: the process ends by itself after this time, with any command. */
  readonly runDurationMs: number | undefined;
  /** `exit-code`: the exit code when it ends by itself. */
  readonly exitCode: number | undefined;
  /**
   * `stop-duration`: how long the process takes to end after the stop signal; after the grace
   * period it is killed (137).
   */
  readonly stopDurationMs: number;
  /** `exec-exit-code`: the exit code of every command that is run in the container. */
  readonly execExitCode: number | undefined;
  /** `cpu`: the number of CPUs that the running container uses. */
  readonly cpu: UsageSchedule;
  /** `memory`: the number of bytes that the running container uses. */
  readonly memory: UsageSchedule;
}

/** The usage of a waiting process. Not 0, because metrics-server treats 0 as not measured. */
const DEFAULT_CPU = constantUsage(0.001);
const DEFAULT_MEMORY = constantUsage(8 * 1024 * 1024);
/** The most values of one annotation. */
const MAX_STEPS = 100;

class Reader {
  readonly #annotations: Annotations;
  readonly #container: string | undefined;

  constructor(annotations: Annotations | undefined, container?: string) {
    this.#annotations = annotations ?? {};
    this.#container = container;
  }

  text(name: string): string | undefined {
    const key = annotationPrefix + name;
    const own =
      this.#container === undefined ? undefined : this.#annotations[`${key}.${this.#container}`];
    return own ?? this.#annotations[key];
  }

  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const ms = durationOf(text);
    if (ms !== undefined) return ms;
    throw new CriError(
      'InvalidArgument',
      `annotation ${annotationPrefix}${name}: ${JSON.stringify(text)} is not a duration`,
    );
  }

  /** Reads 'QUANTITY', or 'QUANTITY,DURATION=QUANTITY,…' with durations since the start. */
  usage(name: string): UsageSchedule | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const [first = '', ...others] = text.split(',').map((part) => part.trim());
    const steps = others.map((part): UsageStep | undefined => {
      const [time = '', quantity = ''] = part.split('=', 2);
      const fromMs = durationOf(time);
      const value = quantityOf(quantity);
      return fromMs === undefined || value === undefined ? undefined : { fromMs, value };
    });
    const value = quantityOf(first);
    if (value !== undefined && steps.length < MAX_STEPS) {
      const schedule: [UsageStep, ...UsageStep[]] = [{ fromMs: 0, value }];
      for (const step of steps)
        if (step !== undefined && step.fromMs > schedule.at(-1)!.fromMs) schedule.push(step);
      if (schedule.length === steps.length + 1) return schedule;
    }
    throw new CriError(
      'InvalidArgument',
      `annotation ${annotationPrefix}${name}: ${JSON.stringify(text)} is not a quantity, ` +
        'or one with others from later times on, as in "100m,5m=2"',
    );
  }

  exitCode(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (/^\d{1,3}$/.test(text) && Number(text) <= 255) return Number(text);
    throw new CriError(
      'InvalidArgument',
      `annotation ${annotationPrefix}${name}: ${JSON.stringify(text)} is not an exit code`,
    );
  }
}

/** Returns a duration in ms; undefined if the text is none. */
function durationOf(text: string): number | undefined {
  try {
    const ms = parseDuration(text);
    return ms >= 0 ? ms : undefined;
  } catch (error) {
    if (error instanceof DurationError) return undefined;
    throw error;
  }
}

/** Returns a quantity that is not negative; undefined if the text is none. */
function quantityOf(text: string): number | undefined {
  const quantity = tryParseQuantity(text);
  if (quantity === undefined) return undefined;
  const value = quantity.milliValue() / 1000;
  return value >= 0 && Number.isSafeInteger(Math.ceil(value)) ? value : undefined;
}

/**
 * Parses the annotations of a pod, which a kubelet copies to the sandbox. `stopDurationMs`: the
 * default.
 */
export function containerSimulation(
  annotations: Annotations | undefined,
  container: string,
  stopDurationMs = 0,
): ContainerSimulation {
  if (!isAnnotated(annotations)) {
    let plain = PLAIN.get(stopDurationMs);
    if (plain === undefined)
      PLAIN.set(stopDurationMs, (plain = simulationBy({}, '', stopDurationMs)));
    return plain;
  }
  return simulationBy(annotations, container, stopDurationMs);
}

/** The simulation without annotations, by the duration of a stop: nearly all containers share it. */
const PLAIN = new Map<number, ContainerSimulation>();

function isAnnotated(annotations: Annotations | undefined): annotations is Annotations {
  return Object.keys(annotations ?? {}).some((key) => key.startsWith(annotationPrefix));
}

function simulationBy(
  annotations: Annotations,
  container: string,
  stopDurationMs: number,
): ContainerSimulation {
  const read = new Reader(annotations, container);
  return {
    startDelayMs: read.duration('start-delay') ?? 0,
    startError: read.text('start-error'),
    runDurationMs: read.duration('run-duration'),
    exitCode: read.exitCode('exit-code'),
    stopDurationMs: read.duration('stop-duration') ?? stopDurationMs,
    execExitCode: read.exitCode('exec-exit-code'),
    cpu: read.usage('cpu') ?? DEFAULT_CPU,
    memory: read.usage('memory') ?? DEFAULT_MEMORY,
  };
}

/**
 * Parses `image-pull-error` and `image-pull-duration` (see ImageSimulation) from the annotations of
 * an image spec, to which a kubelet copies the pod's. Without them, the canonical `name` may mean
 * an image that does not exist.
 */
export function imageSimulation(
  name: string,
  annotations: Annotations | undefined,
): ImageSimulation {
  const read = new Reader(annotations);
  return {
    pullError: read.text('image-pull-error') ?? missingImageError(name),
    pullDurationMs: read.duration('image-pull-duration'),
  };
}
