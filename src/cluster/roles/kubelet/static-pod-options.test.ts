import { expect, test } from 'vitest';
import { UserError } from '../../user-error.ts';
import { staticPodSettings, withoutSecrets } from './static-pod-options.ts';

test('a URL with headers', () => {
  const headers = { Authorization: ['Bearer abc'] };
  expect(
    staticPodSettings({
      manifestUrl: 'https://manifests.test/pods',
      manifestUrlHeader: headers,
      httpCheckFrequency: 5000,
    }),
  ).toEqual({
    staticPodUrl: 'https://manifests.test/pods',
    staticPodUrlHeaders: headers,
    staticPodUrlCheckMs: 5000,
  });
  expect(staticPodSettings({})).toEqual({});
});

test.each([
  [{ manifestUrl: 'manifests.test/pods' }, 'staticPodURL (--manifest-url) is no URL'],
  [{ manifestUrl: 'file:///etc/passwd' }, 'staticPodURL (--manifest-url) is no URL'],
  [{ manifestUrlHeader: { 'a b': ['x'] } }, '"a b" is no valid header'],
  [{ manifestUrlHeader: { A: ['secret\r\nB: x'] } }, '"A" is no valid header'],
  [{ manifestUrlHeader: { A: 'x' as unknown as string[] } }, '"A" takes a list of texts'],
])('%j is rejected', (options, message) => {
  expect(() => staticPodSettings(options)).toThrow(UserError);
  expect(() => staticPodSettings(options)).toThrow(message);
  expect(() => staticPodSettings(options)).not.toThrow('secret');
});

test('passwords and values of headers are not shown', () => {
  const shown = withoutSecrets({
    manifestUrl: 'https://me:secret@manifests.test/',
    manifestUrlHeader: { Authorization: ['Bearer secret'] },
    httpCheckFrequency: 1,
  });
  expect(JSON.stringify(shown)).not.toContain('secret');
  expect(shown.manifestUrlHeader).toEqual({ Authorization: ['<masked>'] });
});
