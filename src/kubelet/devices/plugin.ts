// A connection to a device plugin.

import type { Clock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import { withTimeout } from '../handlers/timeout.ts';
import {
  type AllocateResponse,
  type Device,
  devicePluginSchema,
  type PluginOptions,
} from './schema.ts';

/** The calls of a device plugin. Each rejects with an RpcError, or the signal's reason. */
export interface DevicePlugin {
  /** Connects, and returns what the plugin can do. */
  options(signal: AbortSignal): Promise<PluginOptions>;
  /** Yields the complete list of devices whenever it changes. */
  listAndWatch(signal: AbortSignal): AsyncIterable<readonly Device[]>;
  /** Returns the devices that the plugin prefers for a container. */
  preferred(
    available: readonly string[],
    mustInclude: readonly string[],
    size: number,
    signal: AbortSignal,
  ): Promise<readonly string[]>;
  /** Prepares the devices for a container. Returns undefined if the response has no container. */
  allocate(ids: readonly string[], signal: AbortSignal): Promise<AllocateResponse | undefined>;
  preStartContainer(ids: readonly string[], signal: AbortSignal): Promise<void>;
  close(): void;
}

/** How long the kubelet waits for the plugin's socket. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A plugin may reset its hardware before a container starts. */
const PRE_START_TIMEOUT_MS = 30_000;
/** Upstream has no limit; a hanging plugin would block its pods forever. */
const CALL_TIMEOUT_MS = 120_000;

/** Returns a connection to the plugin at the socket. */
export function devicePluginAt(socketPath: string, clock: Clock): DevicePlugin {
  const connection = new RpcConnection(devicePluginSchema, socketPath, clock);
  return {
    async options(signal) {
      try {
        await withTimeout(clock, CONNECT_TIMEOUT_MS, signal, (limited) =>
          connection.connected(limited),
        );
      } catch (error) {
        signal.throwIfAborted();
        throw new Error('failed to dial device plugin: context deadline exceeded', {
          cause: error,
        });
      }
      return await connection.call('DevicePlugin', 'GetDevicePluginOptions', {}, { signal });
    },
    async *listAndWatch(signal) {
      for await (const { devices } of connection.stream('DevicePlugin', 'ListAndWatch', {}, signal))
        yield devices;
    },
    async preferred(availableDeviceIds, mustIncludeDeviceIds, allocationSize, signal) {
      const { containerResponses } = await connection.call(
        'DevicePlugin',
        'GetPreferredAllocation',
        { containerRequests: [{ availableDeviceIds, mustIncludeDeviceIds, allocationSize }] },
        { signal, timeoutMs: CALL_TIMEOUT_MS },
      );
      return containerResponses[0]?.deviceIds ?? [];
    },
    async allocate(devicesIds, signal) {
      const { containerResponses } = await connection.call(
        'DevicePlugin',
        'Allocate',
        { containerRequests: [{ devicesIds }] },
        { signal, timeoutMs: CALL_TIMEOUT_MS },
      );
      return containerResponses[0];
    },
    async preStartContainer(devicesIds, signal) {
      await connection.call(
        'DevicePlugin',
        'PreStartContainer',
        { devicesIds },
        { signal, timeoutMs: PRE_START_TIMEOUT_MS },
      );
    },
    close: () => connection.close(),
  };
}
