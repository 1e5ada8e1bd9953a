// Serves the files of the console's web application. Its page routes by the fragment of its address,
// so there is one page.

import type { Random } from '#machinery/random.ts';
import { type ConsoleRequest, type ConsoleResponse, expectMethod, PREFIX, text } from '../http.ts';
import { type Asset, type Assets, readAssets } from './asset-folder.ts';
import { NONCE_PLACEHOLDER, pageHeaders } from './content-policy.ts';

const PAGE = 'index.html';
const FOREVER = 'public, max-age=31536000, immutable';

export interface StaticFilesConfig {
  /** The folder of the built web application. */
  readonly folder: string;
  readonly random: Random;
}

export class StaticFiles {
  readonly #config: StaticFilesConfig;
  /** Read at the first request. */
  #assets: Promise<Assets | undefined> | undefined;

  constructor(config: StaticFilesConfig) {
    this.#config = config;
  }

  async serve(request: ConsoleRequest): Promise<ConsoleResponse> {
    expectMethod(request, 'GET', 'HEAD');
    const assets = await (this.#assets ??= this.#read());
    if (assets === undefined) return text(404, 'the console is not part of this build');
    const name = request.path.slice(PREFIX.length);
    const file = assets.get(name);
    if (file !== undefined && name !== PAGE) return fileResponse(request, file);
    const page = assets.get(PAGE);
    return (name === '' || name === PAGE) && page !== undefined
      ? pageResponse(page, this.#config.random)
      : text(404, 'not found');
  }

  /** Reads the folder. A failure is not kept: the next request tries again. */
  async #read(): Promise<Assets | undefined> {
    try {
      return await readAssets(this.#config.folder);
    } catch (error) {
      this.#assets = undefined;
      throw error;
    }
  }
}

function pageResponse(page: Asset, random: Random): ConsoleResponse {
  const html = Buffer.from(page.bytes).toString('utf8');
  const nonce = html.includes(NONCE_PLACEHOLDER)
    ? Buffer.from(random.bytes(16)).toString('base64')
    : undefined;
  return {
    code: 200,
    headers: { ...pageHeaders(nonce), 'cache-control': 'no-store' },
    body: {
      kind: 'text',
      contentType: page.contentType,
      text: nonce === undefined ? html : html.replaceAll(NONCE_PLACEHOLDER, nonce),
    },
  };
}

async function fileResponse(request: ConsoleRequest, asset: Asset): Promise<ConsoleResponse> {
  const headers: Record<string, string> = {
    // A file that is opened as a page must not do more than the page.
    ...pageHeaders(undefined),
    'cache-control': asset.immutable ? FOREVER : 'no-cache',
    etag: asset.etag,
    vary: 'Accept-Encoding',
  };
  if (request.headers['if-none-match'] === asset.etag)
    return { code: 304, headers, body: { kind: 'none' } };
  const accepted = request.headers['accept-encoding'] ?? '';
  const encoding = (['br', 'gzip'] as const).find((each) => accepts(accepted, each));
  const encoded = encoding === undefined ? undefined : await asset.encoded(encoding);
  if (encoding !== undefined && encoded !== undefined) headers['content-encoding'] = encoding;
  const bytes = encoded ?? asset.bytes;
  return { code: 200, headers, body: { kind: 'bytes', contentType: asset.contentType, bytes } };
}

function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    return name === encoding && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}
