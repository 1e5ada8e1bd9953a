import { describe, expect, test } from 'vitest';

import { SeededRandom } from '../../../../machinery/random.ts';
import { formatIPv4, parseIPv4, serviceAddressRange, serviceAddressRanges } from './address-range.ts';
import { NumberAllocator } from './allocator.ts';
import { ServiceReservations } from './reservations.ts';
import type { Service } from './service.ts';

describe('addresses as numbers', () => {
  test.each([
    ['0.0.0.0', 0],
    ['10.96.0.1', 174_063_617],
    ['255.255.255.255', 4_294_967_295],
  ])('%s', (address, number) => {
    expect(parseIPv4(address)).toBe(number);
    expect(formatIPv4(number)).toBe(address);
  });

  test.each(['', '10.0.0', '10.0.0.256', '10.0.0.0.1', '10.0.0.x', '::1', '10.0.0.-1', '1e1.0.0.1'])('not %j', (text) => {
    expect(parseIPv4(text)).toBeUndefined();
  });
});

describe('ranges', () => {
  /** As Kubernetes has it: a sixteenth, but at least 16 and at most 256, is given out last. */
  test.each([
    ['10.0.0.0/8', '10.0.0.1', '10.255.255.254', '10.0.1.1'],
    ['10.96.0.0/12', '10.96.0.1', '10.111.255.254', '10.96.1.1'],
    ['10.96.0.0/20', '10.96.0.1', '10.96.15.254', '10.96.1.1'],
    ['10.96.0.0/24', '10.96.0.1', '10.96.0.254', '10.96.0.17'],
    ['10.96.0.77/24', '10.96.0.1', '10.96.0.254', '10.96.0.17'],
    ['10.96.0.0/27', '10.96.0.1', '10.96.0.30', '10.96.0.17'],
    ['10.96.0.0/28', '10.96.0.1', '10.96.0.14', '10.96.0.1'],
    ['10.96.0.0/29', '10.96.0.1', '10.96.0.6', '10.96.0.1'],
    ['fd00::/108', 'fd00::1', 'fd00::f:ffff', 'fd00::101'],
    ['fd00::7:77/120', 'fd00::7:1', 'fd00::7:ff', 'fd00::7:11'],
    ['2001:db8:0:1::/64', '2001:db8:0:1::1', '2001:db8:0:1::ffff:ffff', '2001:db8:0:1::101'],
    ['fd00::10.1.2.0/125', 'fd00::a01:201', 'fd00::a01:207', 'fd00::a01:201'],
  ])('%s', (cidr, first, last, firstDynamic) => {
    const range = serviceAddressRange(cidr);
    expect([range.first, range.last, range.firstDynamic].map((number) => range.addressOf(number))).toEqual([
      first,
      last,
      firstDynamic,
    ]);
    expect(range.numberOf(firstDynamic)).toBe(range.firstDynamic);
  });

  test.each([
    '',
    '10.0.0.0',
    '10.0.0.0/7',
    '10.0.0.0/30',
    '10.0.0.0/x',
    'fd00::/63',
    'fd00::/126',
    '10.0.0/24',
    '10.0.0.0/24/24',
  ])('not %j', (cidr) => {
    expect(() => serviceAddressRange(cidr)).toThrow(RangeError);
  });
});

test('one range of each family', () => {
  expect(serviceAddressRanges('10.0.0.0/24,fd00::/112').map(({ family }) => family)).toEqual(['IPv4', 'IPv6']);
  expect(serviceAddressRanges('fd00::/112,10.0.0.0/24').map(({ family }) => family)).toEqual(['IPv6', 'IPv4']);
  for (const cidrs of ['10.0.0.0/24,10.1.0.0/24', '10.0.0.0/24,fd00::/112,10.1.0.0/24', '10.0.0.0/24,']) {
    expect(() => serviceAddressRanges(cidrs), cidrs).toThrow(RangeError);
  }
});

describe('numbers', () => {
  const allocator = (): NumberAllocator =>
    new NumberAllocator({ first: 1, last: 10, firstDynamic: 5 }, new SeededRandom('numbers'));

  test('the upper ones first, each once, until there are none', () => {
    const transaction = allocator().begin(false);
    const taken = Array.from({ length: 10 }, () => transaction.takeAny());
    expect(taken.slice(0, 6).toSorted((a = 0, b = 0) => a - b)).toEqual([5, 6, 7, 8, 9, 10]);
    expect(taken.slice(6).toSorted()).toEqual([1, 2, 3, 4]);
    expect(transaction.takeAny()).toBeUndefined();
  });

  test('are free again after a rollback, taken after a commit', () => {
    const numbers = allocator();
    const first = numbers.begin(false);
    expect([first.take(3), first.take(3)]).toEqual([true, false]);
    expect(numbers.begin(false).take(3)).toBe(false);
    first.rollback();
    const second = numbers.begin(false);
    expect(second.take(3)).toBe(true);
    second.commit();
    expect(numbers.begin(false).take(3)).toBe(false);
  });

  test('are given back with the commit, not before', () => {
    const numbers = allocator();
    numbers.markTaken(3);
    const failed = numbers.begin(false);
    failed.giveBack(3);
    failed.rollback();
    expect(numbers.begin(false).take(3)).toBe(false);
    const done = numbers.begin(false);
    done.giveBack(3);
    done.commit();
    expect(numbers.begin(false).take(3)).toBe(true);
  });

  test('of a dry run stay free, and what it gives back taken', () => {
    const numbers = allocator();
    numbers.markTaken(4);
    const dry = numbers.begin(true);
    expect([dry.take(3), dry.take(3), dry.take(4)]).toEqual([true, false, false]);
    dry.giveBack(4);
    expect(numbers.begin(false).take(3)).toBe(true);
    dry.rollback();
    dry.commit();
    const after = numbers.begin(false);
    expect([after.take(3), after.take(4)]).toEqual([false, false]);
  });
});

describe('what was there before', () => {
  const service = (clusterIP: string): Service =>
    ({
      metadata: { name: 's' },
      spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ports: [] },
      status: { loadBalancer: {} },
    }) as unknown as Service;
  const reservations = (listServices: () => Promise<readonly Service[]>): ServiceReservations =>
    new ServiceReservations({ serviceCidr: '10.0.0.0/24', random: new SeededRandom('services'), listServices });

  test('is read once, at the first use, whoever comes first', async () => {
    let reads = 0;
    const all = reservations(() => {
      reads++;
      return Promise.resolve([service('10.0.0.9')]);
    });
    const asked = await Promise.allSettled([1, 2].map(() => all.reserve(service('10.0.0.9'), undefined, false)));
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(reads).toBe(1);
  });

  test('is read again if it could not be read', async () => {
    let fails = true;
    const all = reservations(() => (fails ? Promise.reject(new Error('no store')) : Promise.resolve([service('10.0.0.9')])));
    await expect(all.reserve(service('10.0.0.9'), undefined, false)).rejects.toThrow('no store');
    fails = false;
    await expect(all.reserve(service('10.0.0.9'), undefined, false)).rejects.toThrow('already allocated');
  });

  test('and goes while it is being read is free', async () => {
    let finish: (services: readonly Service[]) => void = () => undefined;
    const all = reservations(() => new Promise((resolve) => (finish = resolve)));
    const asked = all.reserve(service('10.0.0.9'), undefined, false);
    all.release(service('10.0.0.9'));
    finish([service('10.0.0.9')]);
    expect((await asked).object.spec.clusterIP).toBe('10.0.0.9');
  });
});
