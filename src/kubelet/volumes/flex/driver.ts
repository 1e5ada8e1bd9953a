// Programs that are drivers of FlexVolumes, in upstream's protocol: a command with arguments, and an
// answer in JSON on standard output.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from '#machinery/execute.ts';

/** Upstream's directory of drivers: VENDOR~DRIVER/DRIVER. */
export const FLEX_VOLUME_DIR = '/usr/libexec/kubernetes/kubelet-plugins/volume/exec';

const NAME = /^(?:([\w.-]+)\/)?([\w.-]+)$/;

/** The driver does not know the command. */
export class NotSupportedError extends Error {
  override readonly name = 'NotSupportedError';
}

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly capabilities?: { readonly attach?: boolean; readonly fsGroup?: boolean };
}

/** Names as a driver that says nothing of them has them. */
export interface FlexCapabilities {
  readonly attach: boolean;
  readonly fsGroup: boolean;
}

/** Returns 'VENDOR~DRIVER', the name in paths. Throws for a name that is none. */
export function escapedName(driver: string): string {
  const [, vendor, name = ''] = NAME.exec(driver) ?? [];
  if (name === '' || [vendor, name].some((part) => part === '.' || part === '..'))
    throw new Error(`invalid name of a FlexVolume driver: ${JSON.stringify(driver)}`);
  return vendor === undefined ? name : `${vendor}~${name}`;
}

/** A driver by its name in paths: see escapedName. */
export class FlexDriver {
  readonly #program: string;
  readonly #name: string;

  constructor(pluginDir: string, escaped: string) {
    const separator = escaped.indexOf('~');
    this.#program = join(pluginDir, escaped, escaped.slice(separator + 1));
    this.#name = escaped.replace('~', '/');
  }

  /** Starts the driver anew for the first use. Rejects if there is no such driver. */
  async init(): Promise<FlexCapabilities> {
    try {
      await access(this.#program, constants.X_OK);
    } catch (error) {
      throw new Error(`no volume plugin matched: no FlexVolume driver ${this.#name}`, {
        cause: error,
      });
    }
    const { capabilities } = await this.#call(['init']);
    return { attach: capabilities?.attach ?? true, fsGroup: capabilities?.fsGroup ?? true };
  }

  /** Mounts a volume at an existing directory. */
  async mount(target: string, options: Readonly<Record<string, string>>): Promise<void> {
    await this.#call(['mount', target, JSON.stringify(options)]);
  }

  async unmount(target: string): Promise<void> {
    await this.#call(['unmount', target]);
  }

  /** A driver that fails may say why on either stream. */
  async #call(args: readonly string[]): Promise<Status> {
    const [command = ''] = args;
    const { code, stdout, stderr } = await execute([this.#program, ...args], '');
    const output = stdout === '' ? stderr : stdout;
    let status: Status;
    try {
      status = JSON.parse(output) as Status;
    } catch (error) {
      const what = `${command} command failed with exit code ${code}: ${output.trim()}`;
      throw new Error(what, { cause: error });
    }
    if (status.status === 'Not supported')
      throw new NotSupportedError(`${this.#name}: ${command}: ${status.status}`);
    if (status.status !== 'Success')
      throw new Error(
        `${command} command failed, status: ${status.status ?? ''}, reason: ${status.message ?? ''}`,
      );
    if (code !== 0) throw new Error(`${command} command succeeded, but with exit code ${code}`);
    return status;
  }
}
