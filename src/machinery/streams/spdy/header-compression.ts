// Header blocks of SPDY/3: name-value pairs, compressed with one zlib stream per direction. The
// stream lasts as long as the connection and starts from a shared dictionary (SPDY protocol draft
// 3, section 2.6.10).
//
// A zlib stream whose every block ends in a sync flush is its 6 bytes of header followed by raw
// deflate blocks, each of which may refer to the 32 KiB of plain text before it. Both directions
// therefore keep that much history and pass it as the dictionary to the synchronous raw functions.
// This needs no stream objects and no waiting in the middle of a frame.

import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';

export type Headers = Readonly<Record<string, readonly string[]>>;

export class HeaderBlockError extends Error {}

const WINDOW = 32 * 1024;
/** The largest header block after decompression, in bytes. A larger one is an attack. */
const MAX_BLOCK = 256 * 1024;
const MAX_PAIRS = 1000;

// The dictionary contains each word with its length before it, and a tail of common pieces without
// lengths.
const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow ' +
  'authorization cache-control connection content-base content-encoding content-language ' +
  'content-length content-location ' +
  'content-md5 content-range content-type date etag expect expires from host if-match ' +
  'if-modified-since if-none-match ' +
  'if-range if-unmodified-since last-modified location max-forwards pragma ' +
  'proxy-authenticate proxy-authorization range ' +
  'referer retry-after server te trailer transfer-encoding upgrade user-agent vary via ' +
  'warning www-authenticate method get ' +
  'status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin';
const TAIL =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative ' +
  'Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 ' +
  'Forbidden404 Not Found500 Internal ' +
  'Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug ' +
  'Sept Oct Nov Dec 00:00:00 Mon, ' +
  'Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,' +
  'application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8' +
  'charset=iso-8859-1,utf-,*,enq=0.';

function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  const out = Buffer.allocUnsafe(4 + bytes.length);
  out.writeUInt32BE(bytes.length);
  bytes.copy(out, 4);
  return out;
}

/** The dictionary of both ends. */
export const headerDictionary: Buffer = Buffer.concat([
  ...WORDS.split(' ').map((word) => lengthPrefixed(word.replace('_', ' '))),
  Buffer.from(TAIL, 'latin1'),
]);

/**
 * zlib's header: deflate with a 32 KiB window, best compression, a preset dictionary, and the
 * dictionary's Adler-32.
 */
const ZLIB_HEADER = Buffer.from('78f9e3c6a7c2', 'hex');

function remember(history: Buffer, plain: Buffer): Buffer {
  return Buffer.concat([history, plain]).subarray(-WINDOW);
}

/**
 * Compresses the headers of one direction. Blocks must be sent in the order in which they were
 * compressed.
 */
export class HeaderCompressor {
  #history: Buffer = headerDictionary;
  #started = false;

  /** Compresses headers. Names are sent in lower case, as the protocol requires. */
  compress(headers: Headers): Buffer {
    const pairs = Object.entries(headers);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(pairs.length);
    const plain = Buffer.concat([
      count,
      ...pairs.flatMap(([name, values]) => [
        lengthPrefixed(name.toLowerCase()),
        lengthPrefixed(values.join('\0')),
      ]),
    ]);
    const block = deflateRawSync(plain, {
      dictionary: this.#history,
      finishFlush: constants.Z_SYNC_FLUSH,
      level: constants.Z_BEST_COMPRESSION,
    });
    this.#history = remember(this.#history, plain);
    if (this.#started) return block;
    this.#started = true;
    return Buffer.concat([ZLIB_HEADER, block]);
  }
}

/**
 * Decompresses the headers of one direction. Every received block must pass here, even if it is not
 * used: later blocks refer to it.
 */
export class HeaderDecompressor {
  #history: Buffer = headerDictionary;
  #started = false;

  /**
   * Decompresses a block. Names are in lower case. Throws HeaderBlockError; the connection is then
   * unusable.
   */
  decompress(block: Buffer): Headers {
    let body = block;
    if (!this.#started) {
      const isZlib =
        block.length >= 6 && (block[0]! & 0x0f) === 8 && block.readUInt16BE(0) % 31 === 0;
      if (!isZlib || !block.subarray(2, 6).equals(ZLIB_HEADER.subarray(2))) {
        throw new HeaderBlockError(
          'the compressed headers do not start with the SPDY/3 dictionary',
        );
      }
      this.#started = true;
      body = block.subarray(6);
    }
    let plain: Buffer;
    try {
      plain = inflateRawSync(body, {
        dictionary: this.#history,
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: MAX_BLOCK,
      });
    } catch (error) {
      throw new HeaderBlockError('cannot decompress the headers', { cause: error });
    }
    this.#history = remember(this.#history, plain);
    return readPairs(plain);
  }
}

function readPairs(plain: Buffer): Headers {
  let position = 0;
  const uint32 = (): number => {
    if (position + 4 > plain.length) throw new HeaderBlockError('the header block is truncated');
    position += 4;
    return plain.readUInt32BE(position - 4);
  };
  const text = (): string => {
    const length = uint32();
    if (position + length > plain.length)
      throw new HeaderBlockError('the header block is truncated');
    position += length;
    return plain.toString('utf8', position - length, position);
  };
  const count = uint32();
  if (count > MAX_PAIRS) throw new HeaderBlockError(`the header block has ${count} headers`);
  const headers = Object.create(null) as Record<string, readonly string[]>;
  for (let i = 0; i < count; i++) {
    const name = text().toLowerCase();
    const values = text().split('\0');
    if (name === '' || name in headers)
      throw new HeaderBlockError(`the header ${JSON.stringify(name)} is empty or duplicate`);
    headers[name] = values;
  }
  return headers;
}
