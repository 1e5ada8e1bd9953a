import { describe, expect, test } from 'vitest';
import { decodeObject } from './codec/index.ts';
import { newDefaultScheme } from '../default-scheme.ts';
import { metaSchemas } from './schema/meta-schemas.ts';
import { apiVersionOf, parseApiVersion, Scheme } from './scheme.ts';

const pod = { group: '', version: 'v1', kind: 'Pod' };

describe('Scheme', () => {
  const scheme = newDefaultScheme();

  test('has the kinds of every group, and the kinds of all groups', () => {
    expect(scheme.schemas.lookup(pod)).toMatchObject({
      message: { key: 'core/v1.Pod' },
      resource: { resource: 'pods' },
      listMessage: { key: 'core/v1.PodList' },
    });
    expect(
      scheme.schemas.lookup({ group: 'apps', version: 'v1', kind: 'ReplicaSetList' })?.message.key,
    ).toBe('apps/v1.ReplicaSetList');
    expect(
      scheme.schemas.lookup({ group: 'apps', version: 'v1', kind: 'DeleteOptions' })?.message.key,
    ).toBe('meta/v1.DeleteOptions');
    expect(scheme.schemas.lookup({ group: '', version: 'v1', kind: 'Status' })?.message.key).toBe(
      'meta/v1.Status',
    );
    expect(
      scheme.schemas.lookup({ group: 'meta.k8s.io', version: 'v1', kind: 'Table' })?.message.key,
    ).toBe('meta/v1.Table');
    expect(scheme.schemas.lookup({ group: '', version: 'v1', kind: 'PodSpec' })).toBeUndefined();
    expect(scheme.schemas.lookup({ group: '', version: 'v1', kind: 'toString' })).toBeUndefined();
    expect(
      scheme.schemas.lookup({ group: 'apps', version: 'v2', kind: 'ReplicaSet' }),
    ).toBeUndefined();
  });

  test('sets defaults', () => {
    const { object } = decodeObject<{ spec: { restartPolicy?: string } }>(
      scheme.schemas.lookup(pod)!.message,
      {
        spec: { containers: [{ name: 'a' }] },
      },
    );
    scheme.codecOf(pod)?.applyDefaults(object);
    expect(object.spec.restartPolicy).toBe('Always');
  });

  test('converts with registered conversions only', () => {
    const from = { group: '', version: 'v1', kind: 'Event' };
    const to = { group: 'events.k8s.io', version: 'v1', kind: 'Event' };
    const event = {
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: 'x' },
      involvedObject: { kind: 'Pod' },
      message: 'hello',
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    };
    const converted = scheme.convert(event, from, to);
    expect(converted).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      regarding: { kind: 'Pod' },
      note: 'hello',
    });
    expect(scheme.convert(converted, to, from)).toEqual(event);
    expect(scheme.convert(event, from, from)).toBe(event);
    expect(() => scheme.convert({}, pod, to)).toThrow(
      'converting v1, Kind=Pod to events.k8s.io/v1, Kind=Event: unknown conversion',
    );
    expect(() => scheme.addConversion(from, to, (object) => object)).toThrow('registered twice');
  });

  test('does not share registrations', () => {
    expect(new Scheme(metaSchemas).schemas.lookup(pod)).toBeUndefined();
  });
});

describe('apiVersion', () => {
  test('is the group and version, or the version alone', () => {
    expect(apiVersionOf({ group: '', version: 'v1' })).toBe('v1');
    expect(parseApiVersion('apps/v1')).toEqual({ group: 'apps', version: 'v1' });
    expect(parseApiVersion('v1')).toEqual({ group: '', version: 'v1' });
    // As upstream reads it.
    expect(parseApiVersion('/v1')).toEqual({ group: '', version: 'v1' });
    for (const wrong of ['', '/', 'a/', 'a/b/c']) expect(parseApiVersion(wrong)).toBeUndefined();
  });
});
