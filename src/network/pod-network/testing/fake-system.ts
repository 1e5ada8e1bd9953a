// A fake machine for tests: it returns the given state, and records changes.

import { FakeNft } from '#machinery/net/nft/fake-nft.ts';
import { parseCidr, parseIp } from '#machinery/net/ip.ts';
import type { Change } from '../difference.ts';
import { EMPTY_STATE, type ForeignRoute, type Link, type Machine } from '../model.ts';
import type { PodNetworkSystem } from '../system.ts';

const DEFAULT_ROUTE: ForeignRoute = {
  range: { family: 'IPv4', first: 0n, last: 0xffff_ffffn, prefix: 0 },
  link: 'eth0',
  gateway: { family: 'IPv4', value: 0x0a_00_00_fen },
  isConnected: false,
  metric: 0,
};

export class FakeSystem implements PodNetworkSystem {
  readonly nft = new FakeNft();
  machine: Machine = {
    links: [fakeLink('eth0', '10.0.0.1/24')],
    foreignRoutes: [DEFAULT_ROUTE],
    own: EMPTY_STATE,
  };
  readonly applied: Change[] = [];
  reads = 0;
  /** Errors with which the next calls of `read` and `apply` reject. */
  readonly failures: { read: Error[]; apply: Error[] } = { read: [], apply: [] };
  #onChange: (() => void) | undefined;

  read(): Promise<Machine> {
    this.reads++;
    const failure = this.failures.read.shift();
    return failure === undefined ? Promise.resolve(this.machine) : Promise.reject(failure);
  }

  apply(changes: readonly Change[]): Promise<void> {
    const failure = this.failures.apply.shift();
    if (failure !== undefined) return Promise.reject(failure);
    this.applied.push(...changes);
    return Promise.resolve();
  }

  enableForwarding(): Promise<void> {
    return Promise.resolve();
  }

  watch(onChange: () => void, signal: AbortSignal): Promise<void> {
    this.#onChange = onChange;
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
  }

  /** Changes the state of the machine. */
  change(machine: Partial<Machine>): void {
    this.machine = { ...this.machine, ...machine };
    this.#onChange?.();
  }

  get watched(): boolean {
    return this.#onChange !== undefined;
  }
}

export function fakeLink(name: string, address: string, more: Partial<Link> = {}): Link {
  const range = parseCidr(address);
  const ip = parseIp(address.split('/')[0] ?? '');
  if (range === undefined || ip === undefined)
    throw new TypeError(`${address} is no address with a prefix`);
  return {
    name,
    mtu: 1500,
    isUp: true,
    isEthernet: true,
    isLoopback: false,
    master: undefined,
    addresses: [{ ...ip, range }],
    ...more,
  };
}
