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
const STATUS = { HEALTHY: 'Healthy', UNHEALTHY: 'Unhealthy', UNKNOWN: 'Unknown' } as const;

export class HealthCache {
  readonly #file: CheckpointFile;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By driver, then by pool and device. */
  readonly #drivers = new Map<string, Map<string, DeviceHealth>>();

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
      for (const [driver, { Devices: devices }] of Object.entries(
        JSON.parse(contents) as HealthFile,
      )) {
        const entries = Object.entries(devices ?? {}).map(([key, entry]) => [
          key,
          {
            poolName: entry.PoolName,
            deviceName: entry.DeviceName,
            health: entry.Health,
            updatedAt: Date.parse(entry.LastUpdated),
            timeoutMs: entry.HealthCheckTimeout / 1e6,
            message: entry.Message,
          },
        ]) as [string, DeviceHealth][];
        this.#drivers.set(driver, new Map(entries));
      }
    } catch (error) {
      this.#logger.error('DRA manager: health of devices not read', { err: error });
    }
  }

  get(driver: string, pool: string, device: string): DeviceHealth {
    const known = this.#drivers.get(driver)?.get(`${pool}/${device}`);
    if (known !== undefined && this.#clock.now() - known.updatedAt <= known.timeoutMs) return known;
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
    const devices = this.#drivers.get(driver) ?? new Map<string, DeviceHealth>();
    this.#drivers.set(driver, devices);
    const changed: DeviceHealth[] = [];
    const reported = new Set<string>();
    for (const report of reports) {
      const { poolName = '', deviceName = '' } = report.device ?? {};
      const key = `${poolName}/${deviceName}`;
      reported.add(key);
      const seconds = report.healthCheckTimeoutSeconds;
      const current: DeviceHealth = {
        poolName,
        deviceName,
        health: STATUS[report.health],
        updatedAt: now,
        timeoutMs: seconds > 0 ? seconds * 1000 : DEFAULT_TIMEOUT_MS,
        message: shortened(report.message),
      };
      if (!isSame(devices.get(key), current)) changed.push(current);
      devices.set(key, current);
    }
    for (const [key, device] of devices) {
      const isStale = device.health !== 'Unknown' && now - device.updatedAt > device.timeoutMs;
      if (reported.has(key) || !isStale) continue;
      const unknown: DeviceHealth = { ...device, health: 'Unknown', message: '', updatedAt: now };
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
