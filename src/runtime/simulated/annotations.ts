// Annotations by which a pod controls its own simulation. Every key is
// `simulation.coxswain.dev/NAME`; with `.CONTAINER` appended it applies to that container only, and
// takes precedence over the pod's. An invalid value is an error when the container is created,
// because a simulation that silently ignores it would be misleading.

import { CriError } from '#cri/index.ts';
import type { ImageSimulation } from '../named-images.ts';
import { missingImageError } from './missing-images.ts';
import { parseDuration } from '#machinery/text/duration.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';

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
  readonly cpuCores: number;
  /** `memory`: the number of bytes that the running container uses. */
  readonly memoryBytes: number;
}

/** The usage of a waiting process. Not 0, because metrics-server treats 0 as not measured. */
const DEFAULT_CPU_CORES = 0.001;
const DEFAULT_MEMORY_BYTES = 8 * 1024 * 1024;

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
    try {
      const ms = parseDuration(text);
      if (ms >= 0) return ms;
    } catch {
      // The value is invalid: the error is thrown below.
    }
    throw new CriError(
      'InvalidArgument',
      `annotation ${annotationPrefix}${name}: ${JSON.stringify(text)} is not a duration`,
    );
  }

  quantity(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    try {
      const value = parseQuantity(text).milliValue() / 1000;
      if (value >= 0 && Number.isSafeInteger(Math.ceil(value))) return value;
    } catch {
      // The value is invalid: the error is thrown below.
    }
    throw new CriError(
      'InvalidArgument',
      `annotation ${annotationPrefix}${name}: ${JSON.stringify(text)} is not a quantity`,
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

/**
 * Parses the annotations of a pod, which a kubelet copies to the sandbox. `stopDurationMs`: the
 * default.
 */
export function containerSimulation(
  annotations: Annotations | undefined,
  container: string,
  stopDurationMs = 0,
): ContainerSimulation {
  const read = new Reader(annotations, container);
  return {
    startDelayMs: read.duration('start-delay') ?? 0,
    startError: read.text('start-error'),
    runDurationMs: read.duration('run-duration'),
    exitCode: read.exitCode('exit-code'),
    stopDurationMs: read.duration('stop-duration') ?? stopDurationMs,
    execExitCode: read.exitCode('exec-exit-code'),
    cpuCores: read.quantity('cpu') ?? DEFAULT_CPU_CORES,
    memoryBytes: Math.floor(read.quantity('memory') ?? DEFAULT_MEMORY_BYTES),
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
