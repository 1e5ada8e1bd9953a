import { expect, test } from 'vitest';

import { decodeContinue, encodeContinue } from './continue-token.ts';

test('a token comes back as it was', () => {
  for (const token of [
    { revision: 7, lastKey: 'default/a' },
    { revision: -1, lastKey: 'ä' },
  ])
    expect(decodeContinue(encodeContinue(token))).toEqual(token);
});

test('a key may begin with a slash', () => {
  const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":5,"start":"/a"}').toString('base64url');
  expect(decodeContinue(token)).toEqual({ revision: 5, lastKey: 'a' });
});

const encoded = (text: string): string => Buffer.from(text).toString('base64url');

test.each([
  ['not base64!', ': illegal base64 data at input byte 3'],
  ['abcde', ': illegal base64 data at input byte 4'],
  ['nonsense', String.raw`: invalid character '\u009e' looking for beginning of value`],
  [encoded('[]'), ': json: cannot unmarshal array into Go value of type storage.continueToken'],
  [encoded('null'), ': server does not recognize this encoded version '],
  [encoded('{"v":"v2"}'), ': server does not recognize this encoded version v2'],
  [
    encoded('{"v":1}'),
    ': json: cannot unmarshal number into Go struct field continueToken.v of type string',
  ],
  [
    encoded('{"v":"meta.k8s.io/v1"}'),
    ': incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
  ],
  [
    encoded('{"v":"meta.k8s.io/v1","rv":1.5}'),
    ': json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64',
  ],
  [encoded('{"v":"meta.k8s.io/v1","rv":1}'), ': encoded start key empty (version meta.k8s.io/v1)'],
  [encoded('{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}'), ': ../x'],
  [encoded('{"v":"meta.k8s.io/v1","rv":1,"start":"a//x"}'), ': a//x'],
])('%s is rejected', (token, why) => {
  expect(() => decodeContinue(token)).toThrow(
    `invalid continue token: continue key is not valid${why}`,
  );
});
