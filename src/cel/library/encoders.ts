// base64.encode and base64.decode.

import { global, type Library } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { BYTES, STRING } from '../types.ts';

function decode(text: string): Uint8Array {
  // Padding is optional.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replaceAll('=', '').length % 4 === 1) {
    throw evaluationError('illegal base64 data');
  }
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

export const encoderLibrary: Library = {
  name: 'encoders',
  functions: {
    'base64.encode': [
      global('base64_encode_bytes', [BYTES], STRING, (bytes: Uint8Array) =>
        Buffer.from(bytes).toString('base64'),
      ),
    ],
    'base64.decode': [global('base64_decode_string', [STRING], BYTES, decode)],
  },
};
