// Serves the files of the console's web application. Any other path without a file's name is the
// page itself, which routes in the browser.

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
    const isPage = name === '' || name === PAGE || !/\.[a-z0-9]+$/i.test(name);
    return isPage && page !== undefined
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

function fileResponse(request: ConsoleRequest, asset: Asset): ConsoleResponse {
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
  let { bytes } = asset;
  if (asset.br !== undefined && accepts(accepted, 'br')) {
    bytes = asset.br;
    headers['content-encoding'] = 'br';
  } else if (asset.gzip !== undefined && accepts(accepted, 'gzip')) {
    bytes = asset.gzip;
    headers['content-encoding'] = 'gzip';
  }
  return { code: 200, headers, body: { kind: 'bytes', contentType: asset.contentType, bytes } };
}

function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    return name === encoding && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}
