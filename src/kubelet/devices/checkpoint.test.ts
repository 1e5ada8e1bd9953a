import { describe, expect, test } from 'vitest';
import { CorruptCheckpointError } from '../checkpoints/corrupt-checkpoint-error.ts';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint.ts';

/** Written by Go programs with upstream's types. */
const fromUpstream = [
  '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}',
  '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":{"a.io/a":[],"a.io/b":["d1","d2"]}},"Checksum":3440404826}',
];
const complete = [
  String.raw`{"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"main","ResourceName":"a.io`,
  String.raw`/b","DeviceIDs":{"-1":["d1"],"0":["d2","d\"3é\n\u003c\u0026\u003e"],"10":["x"],"2":[]},"Al`,
  String.raw`locResp":"CgYKAUsSAXY="},{"PodUID":"uid-2","ContainerName":"side","ResourceName":"a.io/a",`,
  String.raw`"DeviceIDs":{},"AllocResp":""},{"PodUID":"uid-3","ContainerName":"n","ResourceName":"r","D`,
  String.raw`eviceIDs":null,"AllocResp":null}],"RegisteredDevices":{"Z":["é"],"a.io/a":null,"a.io/b":["`,
  String.raw`d1"]}},"Checksum":3790503925}`,
].join('');

describe('the checkpoint of devices', () => {
  test('upstream’s files are read, and their checksums verified', () => {
    expect(decodeCheckpoint(fromUpstream[0]!)).toEqual({ entries: [], registered: new Map() });
    expect(decodeCheckpoint(fromUpstream[1]!).registered).toEqual(
      new Map([
        ['a.io/a', []],
        ['a.io/b', ['d1', 'd2']],
      ]),
    );
    const { entries, registered } = decodeCheckpoint(complete);
    expect(entries.map(({ podUid, devices }) => [podUid, Object.fromEntries(devices)])).toEqual([
      ['uid-1', { '-1': ['d1'], 0: ['d2', 'd"3é\n<&>'], 2: [], 10: ['x'] }],
      ['uid-2', {}],
      ['uid-3', {}],
    ]);
    expect(entries[0]?.response.envs).toEqual({ K: 'v' });
    expect(registered.get('Z')).toEqual(['é']);
    expect(() => decodeCheckpoint(complete.replace('uid-2', 'uid-4'))).toThrow(
      'checkpoint is corrupted',
    );
  });

  test('what is written is read again', () => {
    const response = {
      envs: { K: 'v' },
      mounts: [{ containerPath: '/a', hostPath: '/b', readOnly: true }],
      devices: [],
      annotations: {},
      cdiDevices: [{ name: 'vendor/class=one' }],
    };
    const checkpoint = {
      entries: [
        {
          podUid: 'u',
          container: 'c',
          resource: 'a.io/b',
          devices: new Map([
            [-1, ['d1']],
            [10, ['d2']],
          ]),
          response,
        },
      ],
      registered: new Map([['a.io/b', ['d1', 'd2']]]),
    };
    expect(decodeCheckpoint(encodeCheckpoint(checkpoint))).toEqual(checkpoint);
    expect(encodeCheckpoint({ entries: [], registered: new Map() })).toBe(fromUpstream[0]);
  });

  test.each(['', '{', 'null', '{"Data":{},"Checksum":0}', '{"Data":7,"Checksum":"x"}', '[]'])(
    'a damaged file is recognized: %s',
    (contents) => {
      expect(() => decodeCheckpoint(contents)).toThrow(CorruptCheckpointError);
    },
  );
});
