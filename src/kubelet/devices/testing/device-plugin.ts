// A device plugin for tests: it serves devices that the test chooses, registers with a kubelet, and
// misbehaves on demand.

import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import type { Input } from '#machinery/grpc/schema.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { devicePluginSchema, type DevicePluginSchema } from '../schema.ts';

type Response = Input<DevicePluginSchema, 'ContainerAllocateResponse'>;
type PluginDevice = Input<DevicePluginSchema, 'Device'>;

export interface TestPluginConfig {
  /** The directory of the kubelet's registration socket. */
  readonly directory: string;
  /** The name of the plugin's socket. */
  readonly endpoint: string;
  readonly resource: string;
  readonly devices: readonly PluginDevice[];
  readonly allocate?: (ids: readonly string[]) => Response | Promise<Response>;
  readonly prefer?: (available: readonly string[], size: number) => readonly string[];
  readonly preStart?: (ids: readonly string[]) => void | Promise<void>;
}

export class TestDevicePlugin {
  readonly #config: TestPluginConfig;
  readonly #server = new RpcServer(devicePluginSchema);
  #devices: readonly PluginDevice[];
  #changed: (() => void)[] = [];

  constructor(config: TestPluginConfig) {
    this.#config = config;
    this.#devices = config.devices;
  }

  async start(): Promise<void> {
    const { directory, endpoint, allocate, prefer, preStart } = this.#config;
    const plugin = this;
    this.#server.addService('DevicePlugin', {
      GetDevicePluginOptions: () => ({
        preStartRequired: preStart !== undefined,
        getPreferredAllocationAvailable: prefer !== undefined,
      }),
      ListAndWatch: (_, { signal }) => plugin.#reports(signal),
      GetPreferredAllocation: ({ containerRequests }) => ({
        containerResponses: containerRequests.map(({ availableDeviceIds, allocationSize }) => ({
          deviceIds: prefer?.(availableDeviceIds, allocationSize) ?? [],
        })),
      }),
      Allocate: async ({ containerRequests }) => ({
        containerResponses: await Promise.all(
          containerRequests.map(async ({ devicesIds }) => (await allocate?.(devicesIds)) ?? {}),
        ),
      }),
      PreStartContainer: async ({ devicesIds }) => {
        await preStart?.(devicesIds);
        return {};
      },
    });
    await this.#server.listen(join(directory, endpoint));
  }

  /** Registers with the kubelet. Rejects with the kubelet's error. */
  async register(overrides: { version?: string; endpoint?: string } = {}): Promise<void> {
    const { directory, endpoint, resource } = this.#config;
    const kubelet = new RpcConnection(
      devicePluginSchema,
      join(directory, 'kubelet.sock'),
      systemClock,
    );
    try {
      await kubelet.call('Registration', 'Register', {
        version: 'v1beta1',
        endpoint,
        resourceName: resource,
        ...overrides,
      });
    } finally {
      kubelet.close();
    }
  }

  /** Reports other devices from now on. */
  setDevices(devices: readonly PluginDevice[]): void {
    this.#devices = devices;
    for (const notify of this.#changed.splice(0)) notify();
  }

  stop(): void {
    this.#server.close();
  }

  async *#reports(signal: AbortSignal): AsyncGenerator<{ devices: readonly PluginDevice[] }> {
    let sent: readonly PluginDevice[] | undefined;
    while (!signal.aborted) {
      if (sent !== this.#devices) {
        sent = this.#devices;
        yield { devices: sent };
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#changed.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}
