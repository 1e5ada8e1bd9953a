// Values of an etcd that upstream's servers have written, and those that they can read.

import { expect, test } from 'vitest';
import { messageOf } from '#api/testing/message-of.ts';
import { decodeFromStorage, encodeForStorage } from '#api/machinery/codec/index.ts';
import { encodeProtobuf } from '#api/machinery/codec/protobuf/index.ts';
import type { Opened } from '#storage/transformed-storage.ts';
import { databaseForm } from './database-form.ts';

const open = (stored: Uint8Array): Opened => databaseForm.open(stored, '') as Opened;
const objectOf = (stored: Uint8Array): object => decodeFromStorage(open(stored).value, 7);
const pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: {
    name: 'a',
    namespace: 'default',
    uid: 'u',
    creationTimestamp: '2026-01-02T03:04:05Z',
  },
  spec: { containers: [{ name: 'c', image: 'i', resources: {} }] },
  status: {},
};
const withVersion = { ...pod, metadata: { ...pod.metadata, resourceVersion: '7' } };

test('objects are written as JSON without resourceVersion', () => {
  const stored = databaseForm.seal(encodeForStorage(pod), '');
  expect(JSON.parse(Buffer.from(stored).toString())).toEqual(pod);
  expect(open(stored).stale).toBe(false);
  expect(objectOf(stored)).toEqual(withVersion);
});

test("upstream's protobuf is read, and is stale", () => {
  const stored = encodeProtobuf(messageOf('v1', 'Pod')!, pod);
  expect(open(stored).stale).toBe(true);
  expect(objectOf(stored)).toMatchObject(withVersion);
});

test("upstream's JSON is normalized, and that of custom resources is read as it is", () => {
  const json = (object: object): Buffer => Buffer.from(`${JSON.stringify(object)}\n`);
  const unset = { ...pod, metadata: { ...pod.metadata, labels: null, selfLink: '' } };
  expect(objectOf(json(unset))).toMatchObject(withVersion);
  expect((objectOf(json(unset)) as typeof pod).metadata).toEqual(withVersion.metadata);
  expect(open(json(unset)).stale).toBe(true);
  const widget = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', creationTimestamp: null },
    spec: null,
  };
  expect(objectOf(json(widget))).toEqual({
    ...widget,
    metadata: { ...widget.metadata, resourceVersion: '7' },
  });
});

test("an object of upstream's own without metadata", () => {
  const range = { kind: 'RangeAllocation', apiVersion: 'v1', metadata: {}, range: '1-2', data: '' };
  expect(objectOf(encodeProtobuf(messageOf('v1', 'RangeAllocation')!, range))).toMatchObject({
    range: '1-2',
    metadata: { resourceVersion: '7' },
  });
});

test('a kind that is not known here is an error', () => {
  const stored = encodeProtobuf(messageOf('v1', 'Pod')!, { ...pod, apiVersion: 'v9' });
  expect(() => open(stored)).toThrow('no kind "Pod" is registered for version "v9"');
});

test.each(['k8s:enc:aesgcm:v1:a:x', '', 'text', '\0\0\0\x01{"metadata":{"a":1}}'])(
  'other values stay: %j',
  (text) => {
    const stored = Buffer.from(text, 'latin1');
    expect(open(stored)).toEqual({ value: stored, stale: false });
    if (!text.startsWith('\0')) expect(databaseForm.seal(stored, '')).toBe(stored);
  },
);

test("upstream's objects get the defaults that it leaves out", () => {
  const { metadata } = pod;
  const stored = (apiVersion: string, kind: string, rest: object): object =>
    objectOf(encodeProtobuf(messageOf(apiVersion, kind)!, { kind, apiVersion, metadata, ...rest }));
  const claim = { spec: { accessModes: ['ReadWriteOnce'], resources: {} }, status: {} };
  expect(stored('v1', 'PersistentVolumeClaim', claim)).toMatchObject({
    spec: { volumeMode: 'Filesystem' },
    status: { phase: 'Pending' },
  });
  const labels = { app: 'a' };
  const template = { metadata: { labels }, spec: pod.spec };
  const set = { selector: { matchLabels: labels }, template, updateStrategy: {} };
  expect(
    stored('apps/v1', 'StatefulSet', {
      spec: { ...set, volumeClaimTemplates: [{ metadata: { name: 'c' }, ...claim }] },
    }),
  ).toMatchObject({
    spec: { volumeClaimTemplates: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' }] },
  });
});
