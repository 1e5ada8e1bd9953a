// Deadlines for calls to the container runtime, which hold even if the runtime ignores them. A
// pod's worker waits for one call at a time: without a deadline, a call that never returns would
// keep the pod from being stopped.

import {
  CriError,
  type CallOptions,
  type ImageService,
  type Runtime,
  type RuntimeService,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { TimeoutError, withTimeout } from '../handlers/timeout.ts';

/** The default deadline, equal to upstream's runtimeRequestTimeout. */
const DEFAULT_MS = 120_000;
/** The additional time in which a runtime may report its own deadline, with its own message. */
const SLACK_MS = 10_000;

/**
 * By method: the position of the options among the arguments. Missing: exec, attach, portForward
 * and containerEvents, which are streams that end with their caller's signal; and pullImage, which
 * may take as long as it makes progress, as upstream.
 */
const RUNTIME_CALLS = {
  version: 0,
  status: 0,
  updateRuntimeConfig: 1,
  runPodSandbox: 2,
  stopPodSandbox: 1,
  removePodSandbox: 1,
  podSandboxStatus: 1,
  listPodSandbox: 1,
  createContainer: 3,
  startContainer: 1,
  stopContainer: 2,
  removeContainer: 1,
  listContainers: 1,
  containerStatus: 1,
  updateContainerResources: 2,
  reopenContainerLog: 1,
  execSync: 2,
  containerStats: 1,
  listContainerStats: 1,
  podSandboxStats: 1,
  listPodSandboxStats: 1,
} as const satisfies Partial<Record<keyof RuntimeService, number>>;

const IMAGE_CALLS = {
  listImages: 1,
  imageStatus: 1,
  removeImage: 1,
  imageFsInfo: 0,
} as const satisfies Partial<Record<keyof ImageService, number>>;

/**
 * Returns a wrapper of the runtime. A call without a response at its deadline rejects with
 * DeadlineExceeded; an aborted one with the signal's reason.
 */
export function withDeadlines(runtime: Runtime, clock: Clock): Runtime {
  return {
    name: runtime.name,
    runtime: bound(runtime.runtime, RUNTIME_CALLS, clock),
    images: bound(runtime.images, IMAGE_CALLS, clock),
    close: () => runtime.close(),
  };
}

type Call = (...args: unknown[]) => Promise<unknown>;

function bound<S extends object>(
  service: S,
  calls: Readonly<Record<string, number>>,
  clock: Clock,
): S {
  const bounded = new Map<string, Call>();
  for (const [name, optionsAt] of Object.entries(calls)) {
    const call = (service as Readonly<Record<string, Call>>)[name]!.bind(service);
    bounded.set(name, (...args) => {
      const options = args[optionsAt] as CallOptions | undefined;
      const work = async (signal: AbortSignal): Promise<unknown> => {
        const rest = [...args];
        rest[optionsAt] = { ...options, signal };
        return await call(...rest);
      };
      return withTimeout(
        clock,
        limitOf(name, args, options) + SLACK_MS,
        options?.signal,
        work,
      ).catch((error: unknown) => {
        if (!(error instanceof TimeoutError)) throw error;
        throw new CriError(
          'DeadlineExceeded',
          `${name}: the container runtime did not answer in time`,
        );
      });
    });
  }
  return new Proxy(service, {
    get(target, name) {
      const call = typeof name === 'string' ? bounded.get(name) : undefined;
      if (call !== undefined) return call;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function limitOf(name: string, args: readonly unknown[], options: CallOptions | undefined): number {
  if (options?.timeoutMs !== undefined) return options.timeoutMs;
  return name === 'stopContainer' ? (args[1] as number) + DEFAULT_MS : DEFAULT_MS;
}
