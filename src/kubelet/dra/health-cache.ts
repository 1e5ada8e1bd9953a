// The health of devices as DRA drivers report it. A report holds for the time that the driver has
// stated, 30 seconds by default; then the health is unknown. The file dra_health_state, in upstream's
// layout, keeps the reports over restarts.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { CheckpointFile } from '../checkpoints/checkpoint-file.ts';
import type { ReportedHealth } from './schema.ts';

/** The name of the file. */
export const DRA_HEALTH_FILE = 'dra_health_state';

export type HealthStatus = 'Healthy' | 'Unhealthy' | 'Unknown';

export interface DeviceHealth {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: HealthStatus;
  /** The wall-clock time of the report, in milliseconds. */
  readonly updatedAt: number;
  readonly timeoutMs: number;
  readonly message: string;
}

/** A report, with the monotonic time of its arrival: the wall clock may be set meanwhile. */
interface Report extends DeviceHealth {
  readonly arrivedAt: number;
}

/** The file as JSON. Durations are nanoseconds. */
type HealthFile = Readonly<
  Record<string, { readonly Devices: Readonly<Record<string, DeviceEntry>> | null }>
>;
interface DeviceEntry {
  readonly PoolName: string;
  readonly DeviceName: string;
  readonly Health: HealthStatus;
  readonly LastUpdated: string;
  readonly HealthCheckTimeout: number;
  readonly Message: string;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_MESSAGE = 1024;
/** Devices of one driver. Reports of more are ignored: a driver may make up names forever. */
const MAX_DEVICES = 10_000;
const STATUS = { HEALTHY: 'Healthy', UNHEALTHY: 'Unhealthy', UNKNOWN: 'Unknown' } as const;

export class HealthCache {
  readonly #file: CheckpointFile;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By driver, then by pool and device. */
  readonly #drivers = new Map<string, Map<string, Report>>();

  constructor(config: {
    readonly file: CheckpointFile;
    readonly clock: Clock;
    readonly logger: Logger;
  }) {
    this.#file = config.file;
    this.#clock = config.clock;
    this.#logger = config.logger;
  }

  /** Reads the file. A damaged one is logged and ignored. */
  async restore(): Promise<void> {
    try {
      const contents = await this.#file.read();
      if (contents === undefined) return;
      const drivers = Object.entries(JSON.parse(contents) as HealthFile).map(
        ([driver, { Devices: devices }]) => {
          const entries = Object.entries(devices ?? {}).map(
            ([key, entry]) => [key, this.#restored(entry)] as const,
          );
          return [driver, new Map(entries)] as const;
        },
      );
      // A file with one damaged entry is ignored as a whole.
      for (const [driver, devices] of drivers) this.#drivers.set(driver, devices);
    } catch (error) {
      this.#logger.error('DRA manager: health of devices not read', { err: error });
    }
  }

  get(driver: string, pool: string, device: string): DeviceHealth {
    const known = this.#drivers.get(driver)?.get(`${pool}/${device}`);
    if (known !== undefined && this.#age(known) <= known.timeoutMs) return known;
    return {
      poolName: pool,
      deviceName: device,
      health: 'Unknown',
      updatedAt: 0,
      timeoutMs: DEFAULT_TIMEOUT_MS,
      message: '',
    };
  }

  /** Takes over a driver's report. Returns the devices that have changed. */
  update(driver: string, reports: readonly ReportedHealth[]): readonly DeviceHealth[] {
    const now = this.#clock.now();
    const arrivedAt = this.#clock.monotonic();
    const devices = this.#drivers.get(driver) ?? new Map<string, Report>();
    this.#drivers.set(driver, devices);
    const changed: DeviceHealth[] = [];
    const reported = new Set<string>();
    for (const report of reports) {
      const { poolName = '', deviceName = '' } = report.device ?? {};
      const key = `${poolName}/${deviceName}`;
      if (devices.size >= MAX_DEVICES && !devices.has(key)) continue;
      reported.add(key);
      const seconds = report.healthCheckTimeoutSeconds;
      const current: Report = {
        poolName,
        deviceName,
        health: Object.hasOwn(STATUS, report.health) ? STATUS[report.health] : 'Unknown',
        updatedAt: now,
        arrivedAt,
        timeoutMs: seconds > 0 ? seconds * 1000 : DEFAULT_TIMEOUT_MS,
        message: shortened(report.message),
      };
      if (!isSame(devices.get(key), current)) changed.push(current);
      devices.set(key, current);
    }
    for (const [key, device] of devices) {
      const isStale = device.health !== 'Unknown' && this.#age(device) > device.timeoutMs;
      if (reported.has(key) || !isStale) continue;
      const unknown: Report = {
        ...device,
        health: 'Unknown',
        message: '',
        updatedAt: now,
        arrivedAt,
      };
      devices.set(key, unknown);
      changed.push(unknown);
    }
    if (changed.length > 0) this.#save();
    return changed;
  }

  /** Forgets the driver's reports, because it sends no more. */
  clear(driver: string): void {
    if (this.#drivers.delete(driver)) this.#save();
  }

  #age({ arrivedAt }: Report): number {
    return this.#clock.monotonic() - arrivedAt;
  }

  /** Throws if the entry is damaged. */
  #restored(entry: DeviceEntry): Report {
    const updatedAt = Date.parse(entry.LastUpdated);
    const timeoutMs = entry.HealthCheckTimeout / 1e6;
    const texts = [entry.PoolName, entry.DeviceName, entry.Message];
    const isKnown = Object.values(STATUS).includes(entry.Health);
    if (
      !isKnown ||
      !Number.isFinite(updatedAt + timeoutMs) ||
      texts.some((text) => typeof text !== 'string')
    )
      throw new Error(`damaged entry ${JSON.stringify(entry).slice(0, MAX_MESSAGE)}`);
    // The clock may have been set back since.
    const age = Math.max(0, this.#clock.now() - updatedAt);
    return {
      poolName: entry.PoolName,
      deviceName: entry.DeviceName,
      health: entry.Health,
      updatedAt,
      arrivedAt: this.#clock.monotonic() - age,
      timeoutMs,
      message: entry.Message,
    };
  }

  #save(): void {
    const file = Object.fromEntries(
      [...this.#drivers].map(([driver, devices]) => [
        driver,
        {
          Devices: Object.fromEntries(
            [...devices].map(([key, device]): [string, DeviceEntry] => [
              key,
              {
                PoolName: device.poolName,
                DeviceName: device.deviceName,
                Health: device.health,
                LastUpdated: new Date(device.updatedAt).toISOString(),
                HealthCheckTimeout: device.timeoutMs * 1e6,
                Message: device.message,
              },
            ]),
          ),
        },
      ]),
    );
    this.#file
      .write(JSON.stringify(file))
      .catch((error: unknown) =>
        this.#logger.error('DRA manager: health of devices not written', { err: error }),
      );
  }
}

function isSame(a: DeviceHealth | undefined, b: DeviceHealth): boolean {
  return a?.health === b.health && a.message === b.message && a.timeoutMs === b.timeoutMs;
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 3)}...`;
}
