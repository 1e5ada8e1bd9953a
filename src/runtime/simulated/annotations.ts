// Annotations by which a pod controls its own simulation. Every key is
// `simulation.coxswain.dev/NAME`; with `.CONTAINER` appended it is for that container only, and
// goes before the pod's. A value that cannot be read is an error when the container is created: a
// simulation that silently does something else would be worth nothing.

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
  /** `run-duration`: the process ends by itself after this time, whatever its command. */
  readonly runDurationMs: number | undefined;
  /** `exit-code`: the code with which it ends by itself. */
  readonly exitCode: number | undefined;
  /**
   * `stop-duration`: how long it takes to end after it was asked to; over the grace period it is
   * killed (137).
   */
  readonly stopDurationMs: number;
  /** `exec-exit-code`: what every command that is run inside ends with. */
  readonly execExitCode: number | undefined;
  /** `cpu`: CPUs that the container uses while it runs. */
  readonly cpuCores: number;
  /** `memory`: bytes that the container uses while it runs. */
  readonly memoryBytes: number;
}

/**
 * Enough for a process that waits. Not 0: metrics-server takes 0 for a container that was not
 * measured.
 */
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
      // Falls through to the one message for both.
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
      // Falls through to the one message for both.
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
 * `annotations` are the pod's, which a kubelet puts on the sandbox. `stopDurationMs` holds where
 * they say nothing of it.
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
 * `image-pull-error` and `image-pull-duration`: see ImageSimulation. `annotations` are the image
 * spec's, into which a kubelet copies the pod's; where they say nothing, `name` (canonical) may say
 * that there is no such image.
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
