// Calls of the registration API. A plugin may hang or answer nonsense: each call has a deadline, and
// what a plugin says about itself is bounded.

import type { Clock } from '#machinery/clock.ts';
import { RpcConnection } from '#machinery/grpc/connection.ts';
import { registrationSchema, type RegistrationSchema } from '#csi/registration-schema.ts';

export interface Plugin {
  /** 'CSIPlugin', 'DevicePlugin' or 'DRAPlugin'. */
  readonly type: string;
  readonly name: string;
  /** The socket of the plugin's own API. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** A connection to a plugin's registration socket. */
export interface Registration {
  /** Returns the plugin's description. */
  info(signal: AbortSignal): Promise<Plugin>;
  /** Reports the outcome to the plugin. `error`: '' if it was registered. */
  notify(error: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

const INFO_TIMEOUT_MS = 10_000;
const NOTIFY_TIMEOUT_MS = 5_000;
const MAX_TEXT = 1024;
const MAX_VERSIONS = 64;

/** Opens the registration socket at the path. */
export function registrationAt(socketPath: string, clock: Clock): Registration {
  const connection = new RpcConnection<RegistrationSchema>(registrationSchema, socketPath, clock);
  return {
    async info(signal) {
      const { type, name, endpoint, supportedVersions } = await connection.call(
        'Registration',
        'GetInfo',
        {},
        { signal, timeoutMs: INFO_TIMEOUT_MS },
      );
      for (const text of [type, name, endpoint, ...supportedVersions])
        if (text.length > MAX_TEXT)
          throw new Error(`a field is longer than ${MAX_TEXT} characters`);
      if (supportedVersions.length > MAX_VERSIONS)
        throw new Error(`there are more than ${MAX_VERSIONS} versions`);
      return {
        type,
        name,
        endpoint: endpoint === '' ? socketPath : endpoint,
        versions: supportedVersions,
      };
    },
    async notify(error, signal) {
      await connection.call(
        'Registration',
        'NotifyRegistrationStatus',
        { pluginRegistered: error === '', error },
        { signal, timeoutMs: NOTIFY_TIMEOUT_MS },
      );
    },
    close: () => connection.close(),
  };
}
