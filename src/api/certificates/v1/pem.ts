// PEM text as Go's encoding/pem reads it: blocks between lines of BEGIN and END; what is no block is passed over.

export interface PemBlock {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

const BLOCK = /(?:^|\n)-----BEGIN ([^\n]*?)-----[ \t\r]*\n([\s\S]*?)-----END \1-----[ \t\r]*(?=\n|$)/g;
const HEADER = /^[^:\n]*:[^\n]*(?:\n|$)/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function* pemBlocks(text: string): Generator<PemBlock> {
  for (const [, type = '', content = ''] of text.matchAll(BLOCK)) {
    let body = content;
    for (let header = HEADER.exec(body); header !== null; header = HEADER.exec(body)) body = body.slice(header[0].length);
    const base64 = body.replace(/\s/g, '');
    if (BASE64.test(base64)) yield { type, hasHeaders: body !== content, bytes: Buffer.from(base64, 'base64') };
  }
}
