// Why volumes of a pod are not mounted, and the events that say so.

export interface VolumeFailure {
  readonly volume: string;
  readonly message: string;
  /** The operation that failed. Default: 'MountVolume.SetUp failed'. */
  readonly operation?: string;
}

/** An event about failed volumes. */
export interface VolumeEvent {
  readonly reason: 'FailedMount' | 'FailedMapVolume';
  readonly message: string;
}

/** The failed volumes of a pod, with the reasons. */
export class VolumeError extends Error {
  readonly failures: readonly VolumeFailure[];
  /** The volumes that are not available yet, by their name in the pod. */
  readonly unclaimed: readonly VolumeFailure[];
  /** The volumes that are not attached to the node yet, by their name in the pod. */
  readonly unattached: readonly VolumeFailure[];
  /** Whether a volume is not attached because the node has as many volumes as it can have. */
  readonly isLimitExceeded: boolean;

  constructor(
    failures: readonly VolumeFailure[],
    unclaimed: readonly VolumeFailure[] = [],
    unattached: readonly VolumeFailure[] = [],
    isLimitExceeded = false,
  ) {
    super(
      [...failures, ...unclaimed, ...unattached]
        .map(({ volume, message }) => `volume "${volume}": ${message}`)
        .join(', '),
    );
    this.name = 'VolumeError';
    this.failures = failures;
    this.unclaimed = unclaimed;
    this.unattached = unattached;
    this.isLimitExceeded = isLimitExceeded;
  }

  /** The events to record. */
  get events(): readonly VolumeEvent[] {
    const own = this.failures.map(
      ({ volume, message, operation = 'MountVolume.SetUp failed' }): VolumeEvent => ({
        reason: operation.startsWith('MapVolume.') ? 'FailedMapVolume' : 'FailedMount',
        message: message.startsWith('MountVolume.')
          ? message
          : `${operation} for volume "${volume}" : ${message}`,
      }),
    );
    const { unmounted } = this;
    if (unmounted === undefined) return own;
    const message = `Unable to attach or mount volumes: ${unmounted}`;
    return [...own, { reason: 'FailedMount', message }];
  }

  /** Why volumes are neither mounted nor failed; undefined if there are none. */
  get unmounted(): string | undefined {
    if (this.unclaimed.length + this.unattached.length === 0) return undefined;
    const names = (failures: readonly VolumeFailure[]): string =>
      failures.map(({ volume }) => volume).join(' ');
    const unmounted = [...this.unclaimed, ...this.unattached];
    const why = [...new Set(unmounted.map(({ message }) => message))].join('; ');
    const which =
      `unmounted volumes=[${names(unmounted)}], unattached volumes=[${names(this.unattached)}], ` +
      `failed to process volumes=[${names(this.unclaimed)}]`;
    return `${which}: ${why}`;
  }

  /** The messages of the events. */
  get messages(): readonly string[] {
    return this.events.map(({ message }) => message);
  }
}
