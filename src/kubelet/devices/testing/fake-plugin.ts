// A DevicePlugin in memory, for tests of the manager.

import { withResolvers } from '#machinery/with-resolvers.ts';
import type { DevicePlugin } from '../plugin.ts';
import type { AllocateResponse, Device, PluginOptions } from '../schema.ts';

export const EMPTY_RESPONSE: AllocateResponse = {
  envs: {},
  mounts: [],
  devices: [],
  annotations: {},
  cdiDevices: [],
};

export class FakePlugin implements DevicePlugin {
  allocations: string[][] = [];
  prestarts: string[][] = [];
  isClosed = false;
  pluginOptions: PluginOptions = {
    preStartRequired: false,
    getPreferredAllocationAvailable: false,
  };
  preference: (available: readonly string[], mustInclude: readonly string[]) => readonly string[] =
    () => [];
  onAllocate: (ids: readonly string[]) => Promise<AllocateResponse | undefined> = () =>
    Promise.resolve(EMPTY_RESPONSE);
  readonly #reports: (readonly Device[])[] = [];
  #wake = withResolvers();
  #failure: Error | undefined;
  #ended = false;

  /** Reports the devices. Ids that begin with '!' are unhealthy. */
  report(...ids: string[]): void {
    this.#reports.push(
      ids.map((id) =>
        id.startsWith('!') ? { id: id.slice(1), health: 'Unhealthy' } : { id, health: 'Healthy' },
      ),
    );
    this.#wake.resolve();
  }

  /** Ends the stream of devices. */
  end(failure?: Error): void {
    this.#failure = failure;
    this.#ended = true;
    this.#wake.resolve();
  }

  options(): Promise<PluginOptions> {
    return Promise.resolve(this.pluginOptions);
  }

  async *listAndWatch(): AsyncGenerator<readonly Device[]> {
    for (;;) {
      for (const report of this.#reports.splice(0)) yield report;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return;
      await this.#wake.promise;
      this.#wake = withResolvers();
    }
  }

  preferred(
    available: readonly string[],
    mustInclude: readonly string[],
  ): Promise<readonly string[]> {
    return Promise.resolve(this.preference(available, mustInclude));
  }

  allocate(ids: readonly string[]): Promise<AllocateResponse | undefined> {
    this.allocations.push([...ids]);
    return this.onAllocate(ids);
  }

  preStartContainer(ids: readonly string[]): Promise<void> {
    this.prestarts.push([...ids]);
    return Promise.resolve();
  }

  close(): void {
    this.isClosed = true;
    this.end();
  }
}
