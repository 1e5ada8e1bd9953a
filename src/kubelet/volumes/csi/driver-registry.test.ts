import { describe, expect, test } from 'vitest';
import { recordingLogger } from '#machinery/log.ts';
import { DriverRegistry } from './driver-registry.ts';
import type { CsiNodeService } from './node-client.ts';

function setUp(faults: { readonly fault?: Error } = {}) {
  const log: string[] = [];
  const registry = new DriverRegistry({
    logger: recordingLogger(),
    connect: (endpoint) =>
      ({
        info: () =>
          faults.fault === undefined
            ? Promise.resolve({
                nodeId: 'n',
                maxVolumesPerNode: 3,
                accessibleTopology: { segments: { zone: 'a' } },
              })
            : Promise.reject(faults.fault),
        close: () => log.push(`close ${endpoint}`),
      }) as unknown as CsiNodeService,
    nodeInfo: {
      install: (driver, info) => {
        log.push(`install ${driver} ${JSON.stringify(info)}`);
        return Promise.resolve();
      },
      uninstall: (driver) => {
        log.push(`uninstall ${driver}`);
        return Promise.resolve();
      },
    },
  });
  return { registry, log };
}

const plugin = (versions: readonly string[], endpoint = '/a.sock') => ({
  type: 'CSIPlugin',
  name: 'd',
  endpoint,
  versions,
});

describe('DriverRegistry', () => {
  test('records the driver, and withdraws it', async () => {
    const { registry, log } = setUp();
    await registry.register(plugin(['1.0.0']));
    expect(log).toEqual(['install d {"nodeId":"n","maxVolumes":3,"topology":{"zone":"a"}}']);
    expect(registry.has('d')).toBe(true);
    await registry.deregister(plugin(['1.0.0']));
    expect(log.slice(1)).toEqual(['close /a.sock', 'uninstall d']);
    expect(() => registry.get('d')).toThrow(
      'driver name d not found in the list of registered CSI drivers',
    );
  });

  test('the node information of a driver is recorded again on request', async () => {
    const { registry, log } = setUp();
    await registry.register(plugin(['1.0.0']));
    await registry.refresh('d');
    expect(log[1]).toBe(log[0]);
    await expect(registry.refresh('other')).rejects.toThrow('driver name other not found');
  });

  test('a driver without node information is not registered', async () => {
    const { registry, log } = setUp({ fault: new Error('no metadata') });
    await expect(registry.register(plugin(['1.0.0']))).rejects.toThrow('no metadata');
    expect(registry.has('d')).toBe(false);
    expect(log).toEqual(['close /a.sock', 'uninstall d']);
  });

  test.each([
    [[], 'Plugin returned an empty list for supported versions'],
    [['2.0.0'], 'None of the versions specified ["2.0.0"] are supported'],
    [['0.3.0'], 'None of the versions specified ["0.3.0"] are supported'],
    [['x'], 'None of the versions specified ["x"] are supported'],
  ])('rejects the versions %j', (versions, reason) => {
    const { registry } = setUp();
    expect(() => registry.validate(plugin(versions))).toThrow(reason);
    expect(() => registry.validate(plugin(versions))).toThrow(
      'validation failed for CSI Driver d at endpoint /a.sock: kubernetes.io/csi: ' +
        'ValidatePlugin for CSI driver "d" failed.',
    );
  });

  test('a second driver of that name needs a higher version; the first does not remove it', async () => {
    const { registry } = setUp();
    await registry.register(plugin(['v1.2.0', '2.0.0']));
    expect(() => registry.validate(plugin(['1.2'], '/b.sock'))).toThrow(
      'Another driver with the same name is already registered with a higher supported version: "1.2.0"',
    );
    await registry.register(plugin(['1.10.0'], '/b.sock'));
    await registry.deregister(plugin(['v1.2.0'], '/a.sock'));
    expect(registry.has('d')).toBe(true);
  });

  test('a second driver of that name that does not work does not replace the first', async () => {
    const faults: { fault?: Error } = {};
    const { registry, log } = setUp(faults);
    await registry.register(plugin(['1.0.0']));
    const first = registry.get('d');
    faults.fault = new Error('no metadata');
    await expect(registry.register(plugin(['1.9.0'], '/b.sock'))).rejects.toThrow('no metadata');
    expect(registry.get('d')).toBe(first);
    expect(log.slice(1)).toEqual(['close /b.sock']);
  });
});
