// Makes sure that a container's image is on the node before the container is created, by its pull
// policy. Backs off from images that cannot be pulled.

import { TokenBucket } from '#machinery/token-bucket.ts';
import type { AuthConfig, ImageService, ImageSpec, PodSandboxConfig } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { Slots } from '#machinery/slots.ts';
import type { EventReason, PodEvents } from '../events.ts';
import { untilAborted } from '../handlers/timeout.ts';
import { Backoff } from '../backoff.ts';
import { podUid, type Container, type Pod, type Secret } from '../types.ts';
import { InvalidImageNameError, parseImageName, withDefaultTag } from './image-name.ts';
import { credentialsFor } from './pull-credentials.ts';

/** Why there is no image; `reason` and the message appear in the container's `waiting` state. */
export class ImageError extends Error {
  readonly reason: string;
  /** When the pull may be retried, in wall-clock milliseconds; undefined: the back-off decides. */
  readonly retryAt: number | undefined;

  constructor(
    reason: string,
    message: string,
    options: { readonly retryAt?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ImageError';
    this.reason = reason;
    this.retryAt = options.retryAt;
  }
}

/** An image that a pod needs. */
export interface WantedImage {
  readonly name: string;
  /** The pull policy. Absent: derived from the image's tag. */
  readonly policy: string | undefined;
  /** The container for events. Absent: the pod, as for an image volume. */
  readonly container?: Container;
}

/** The pulls per second, and those that may follow each other at once. */
export interface PullRate {
  readonly perSecond: number;
  readonly burst: number;
}

export interface ImageManagerConfig {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly events: PodEvents;
  /** The maximum number of pulls at a time. Default: any number. */
  readonly maxParallelPulls?: number;
  /** Limits the rate of pulls: a pull without a token fails. Default: no limit. */
  readonly pullRate?: PullRate;
  /** Returns credentials of the node for the image. Absent: there are none. */
  readonly nodeCredentials?: (image: string, signal: AbortSignal) => Promise<readonly AuthConfig[]>;
  /** Called after each pull, with the image's size in bytes and the time with the wait for others. */
  readonly onPulled?: (bytes: number, seconds: number) => void;
  /** The delay after the first failed pull, in milliseconds. Default: 10,000. */
  readonly backoffMs?: number;
  /** The maximum delay, in milliseconds. Default: 300,000. */
  readonly maxBackoffMs?: number;
}

const SHOWN_MS = 2000;

interface Pulled {
  /** The runtime's reference to the image. */
  readonly reference: string;
  /** How long the pull took, without its wait for others. */
  readonly ms: number;
}

export class ImageManager {
  readonly #config: ImageManagerConfig;
  readonly #backoff: Backoff;
  readonly #slots: Slots;
  readonly #pace: TokenBucket | undefined;
  /** By pod and image: the last failure, shown during the back-off. */
  readonly #lastFailure = new Map<string, string>();
  /** Pulls in flight: at most one per image and credentials. */
  readonly #pulls = new Map<string, Promise<Pulled>>();

  constructor(config: ImageManagerConfig) {
    this.#config = config;
    this.#slots = new Slots(config.maxParallelPulls ?? Number.POSITIVE_INFINITY);
    const { clock, pullRate } = config;
    this.#pace = pullRate && new TokenBucket({ clock, ...pullRate });
    this.#backoff = new Backoff(
      config.clock,
      config.backoffMs ?? 10_000,
      config.maxBackoffMs ?? 300_000,
    );
  }

  /** Resolves with the runtime's reference to the image. Rejects with ImageError. */
  async ensureImage(
    pod: Pod,
    { name, policy: wantedPolicy, container }: WantedImage,
    pullSecrets: readonly Secret[],
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<string> {
    const { images, events, clock } = this.#config;
    // Runtimes may use them to choose how to get the image.
    const annotations = pod.metadata.annotations ?? {};
    const report = (type: 'Normal' | 'Warning', reason: EventReason, message: string): void => {
      if (container !== undefined) events.container(pod, container, type, reason, message);
      else if (type === 'Normal') events.normal(pod, reason, message);
      else events.warning(pod, reason, message);
    };

    let image: string;
    try {
      image = withDefaultTag(name);
    } catch (error) {
      if (!(error instanceof InvalidImageNameError)) throw error;
      const message =
        `Failed to apply default image tag "${name}": couldn't parse image name "${name}": ` +
        error.message;
      report('Warning', 'InspectFailed', message);
      throw new ImageError('InvalidImageName', message, { cause: error });
    }

    const policy = wantedPolicy ?? defaultPullPolicy(image);
    if (policy !== 'Always') {
      const present = await this.#find({ image, annotations }, name, report, signal);
      if (present !== undefined) {
        report(
          'Normal',
          'Pulled',
          `Container image "${name}" already present on machine and can be accessed by the pod`,
        );
        return present;
      }
      if (policy === 'Never') {
        const message = `Container image "${name}" is not present with pull policy of Never`;
        report('Warning', 'ErrImageNeverPull', message);
        throw new ImageError('ErrImageNeverPull', message);
      }
    }

    const key = `${podUid(pod)}_${name}`;
    const blockedUntil = this.#backoff.blockedSinceUpdate(key);
    if (blockedUntil !== undefined) {
      const message = `Back-off pulling image "${name}"`;
      report('Normal', 'BackOff', message);
      const cause = this.#lastFailure.get(key);
      throw new ImageError(
        'ImagePullBackOff',
        cause === undefined ? message : `${message}: ${cause}`,
        {
          retryAt: blockedUntil,
        },
      );
    }

    report('Normal', 'Pulling', `Pulling image "${name}"`);
    const begin = clock.monotonic();
    try {
      const { reference, ms } = await this.#pull(
        { image, annotations },
        [
          ...credentialsFor(image, pullSecrets),
          ...((await this.#config.nodeCredentials?.(image, signal)) ?? []),
        ],
        sandboxConfig,
        signal,
      );
      const took = formatDuration(Math.trunc(ms));
      const allMs = clock.monotonic() - begin;
      const withWaiting = formatDuration(Math.trunc(allMs));
      const size = (await images.imageStatus({ image, annotations }, { signal })).image?.size ?? 0;
      this.#config.onPulled?.(size, allMs / 1000);
      report(
        'Normal',
        'Pulled',
        `Successfully pulled image "${name}" in ${took} (${withWaiting} including waiting). Image size: ${size} bytes.`,
      );
      this.#backoff.reset(key);
      this.#lastFailure.delete(key);
      return reference;
    } catch (error) {
      if (signal.aborted) throw error;
      const text = errorMessage(error);
      report('Warning', 'Failed', `Failed to pull image "${name}": ${text}`);
      this.#backoff.next(key, clock.now());
      const failure = describePullFailure(name, text);
      this.#lastFailure.set(key, `${failure.reason}: ${failure.message}`);
      // The failure is reported first; the back-off and its retry time are reported from then on.
      throw new ImageError(failure.reason, failure.message, {
        cause: error,
        retryAt: clock.now() + SHOWN_MS,
      });
    }
  }

  /** Drops the state of a pod that is gone. */
  forget(uid: string): void {
    this.#backoff.forget(`${uid}_`);
    for (const key of this.#lastFailure.keys())
      if (key.startsWith(`${uid}_`)) this.#lastFailure.delete(key);
  }

  async #find(
    image: ImageSpec,
    name: string,
    report: (type: 'Warning', reason: EventReason, message: string) => void,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const { image: found } = await this.#config.images.imageStatus(image, { signal });
      return found?.id;
    } catch (error) {
      if (signal.aborted) throw error;
      const message = `Failed to inspect image "${name}": ${errorMessage(error)}`;
      report('Warning', 'InspectFailed', message);
      throw new ImageError('ImageInspectError', message, { cause: error });
    }
  }

  #pull(
    image: ImageSpec,
    credentials: readonly AuthConfig[],
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<Pulled> {
    const { clock } = this.#config;
    const key = JSON.stringify([image.image, credentials]);
    let pull = this.#pulls.get(key);
    if (pull === undefined) {
      pull = this.#slots
        .run(async () => {
          const begin = clock.monotonic();
          const reference = await this.#tryCredentials(image, credentials, sandboxConfig);
          return { reference, ms: clock.monotonic() - begin };
        })
        .finally(() => this.#pulls.delete(key));
      this.#pulls.set(key, pull);
    }
    // The pull continues for other callers that wait for it.
    return untilAborted(pull, signal);
  }

  /**
   * Pulls without credentials if there are none, otherwise with each until one is accepted. Rejects
   * at once if pulls are too frequent.
   */
  async #tryCredentials(
    image: ImageSpec,
    credentials: readonly AuthConfig[],
    sandboxConfig: PodSandboxConfig,
  ): Promise<string> {
    if (this.#pace?.tryTake() === false) throw new Error('pull QPS exceeded');
    const tries: readonly (AuthConfig | undefined)[] =
      credentials.length === 0 ? [undefined] : credentials;
    const failures: unknown[] = [];
    for (const auth of tries) {
      try {
        return await this.#config.images.pullImage(image, auth, sandboxConfig);
      } catch (error) {
        failures.push(error);
      }
    }
    throw failures.length === 1
      ? failures[0]
      : new AggregateError(failures, failures.map(errorMessage).join(', '));
  }
}

/** Returns the default pull policy: Always for the tag 'latest'. */
function defaultPullPolicy(image: string): string {
  const name = parseImageName(image);
  return name.digest === undefined && name.tag === 'latest' ? 'Always' : 'IfNotPresent';
}

/** Errors that a runtime reports by the beginning of its message, and how they are described. */
const NAMED_FAILURES = [
  ['RegistryUnavailable', 'the registry is unavailable'],
  ['SignatureValidationFailed', 'the signature validation failed'],
] as const;

function describePullFailure(
  name: string,
  text: string,
): { readonly reason: string; readonly message: string } {
  for (const [reason, description] of NAMED_FAILURES) {
    if (!text.startsWith(reason)) continue;
    const rest = text.slice(reason.length);
    return { reason, message: `image pull failed for ${name} because ${description}${rest}` };
  }
  return { reason: 'ErrImagePull', message: text };
}
