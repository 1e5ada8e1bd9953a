// How a kubelet that has no valid certificate gets its first one: with a second kubeconfig, whose
// user may only request certificates, such as one with a bootstrap token. Its own kubeconfig is
// written here, and refers to the certificate's file, which rotation replaces.

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import { makeCertificateRequest } from '#api/groups/certificates/v1/make-request.ts';
import { parseCertificateRequest } from '#api/groups/certificates/v1/request.ts';
import { KUBE_API_SERVER_CLIENT_KUBELET } from '#api/groups/certificates/v1/signers.ts';
import type { Client } from '#client/client.ts';
import type { ServerAccess } from '#client/http/index.ts';
import { KubeconfigError, loadKubeconfigParts } from '#client/kubeconfig.ts';
import {
  certificateOf,
  CLIENT_PREFIX,
  CLIENT_USAGES,
  clientTemplate,
  issuedCertificate,
  PairStore,
  submitRequest,
} from '#kubelet/certificates/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import * as wait from '#machinery/wait.ts';
import { writeKubeconfigOfFiles } from '../../../credentials/kubeconfig.ts';
import { privateKeyPem } from '../../../credentials/private-key.ts';
import { UserError } from '../../../user-error.ts';
import { clientFor, type RoleConfig } from '../../role.ts';

export interface BootstrapConfig extends RoleConfig {
  readonly nodeName: string;
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  readonly certDir: string;
  readonly signal: AbortSignal;
}

type Loaded = Awaited<ReturnType<typeof loadKubeconfigParts>>;

export interface ChosenKubeconfig {
  /** Requests certificates as long as there is none. */
  readonly forRequests: ServerAccess;
  /** The server of all other requests, and the pair that the kubeconfig itself has. */
  readonly forUse: ServerAccess;
  /** Files with the pair of the kubeconfig. */
  readonly certFile?: string;
  readonly keyFile?: string;
}

/** The private key of a request that is not answered yet, so that a restart makes the same request. */
const PENDING_KEY = 'kubelet-client.key.tmp';
const SERVER_WAIT_MS = 60_000;
const HEALTH_TIMEOUT_MS = 1000;
const HEALTH_RETRY_MS = 2000;
const ISSUE_TIMEOUT_MS = 3_600_000;

/**
 * Chooses the kubeconfig for a client whose certificate is rotated: its own one if it is valid,
 * otherwise the bootstrap kubeconfig, and writes its own one. Rejects with UserError.
 */
export async function chooseKubeconfig(
  config: Omit<BootstrapConfig, 'bootstrapKubeconfig'>,
  bootstrap: BootstrapConfig | undefined,
): Promise<ChosenKubeconfig> {
  if (bootstrap === undefined || (await isValid(bootstrap))) {
    const { context, files } = await load('--kubeconfig', config.kubeconfig);
    return {
      forRequests: context,
      forUse: context,
      ...(files.clientCertificate !== undefined && { certFile: files.clientCertificate }),
      ...(files.clientKey !== undefined && { keyFile: files.clientKey }),
    };
  }
  const loaded = await load('--bootstrap-kubeconfig', bootstrap.bootstrapKubeconfig);
  const path = storeOf(bootstrap).currentPath;
  writeOwnKubeconfig(bootstrap, loaded, path);
  const { clientCertificate: _, clientKey: __, ...server } = loaded.context;
  return { forRequests: loaded.context, forUse: server, certFile: path, keyFile: path };
}

/**
 * Requests a client certificate and writes the kubeconfig, unless that is valid already. Waits up to
 * an hour for approval. Rejects with UserError, or with the signal's reason.
 */
export async function bootstrapOnce(config: BootstrapConfig): Promise<void> {
  const { clock, certDir, logger, signal } = config;
  if (await isValid(config)) return;
  const loaded = await load('--bootstrap-kubeconfig', config.bootstrapKubeconfig);
  const client = clientFor(loaded.context, 'kubelet', config);
  try {
    const store = storeOf(config);
    const pendingKey = join(certDir, PENDING_KEY);
    const key = storedKey(store) ?? pendingKeyOf(pendingKey);
    await waitForServer(client, config);
    const request = await requestOnce(client, key, config);
    logger.info('waiting for client certificate to be issued', { csr: request.metadata.name });
    const limits = { clock, timeoutMs: ISSUE_TIMEOUT_MS, signal };
    store.update(await issuedCertificate(client, request, limits), key);
    rmSync(pendingKey, { force: true });
    writeOwnKubeconfig(config, loaded, store.currentPath);
  } catch (error) {
    if (signal.aborted || error instanceof UserError) throw error;
    throw new UserError(
      `--bootstrap-kubeconfig: no certificate was issued: ${(error as Error).message}`,
      { cause: error },
    );
  } finally {
    client.transport.close();
  }
}

const storeOf = ({ clock, certDir }: BootstrapConfig): PairStore =>
  new PairStore({ clock, directory: certDir, prefix: CLIENT_PREFIX });

/** Returns the key of the stored certificate, which may have expired. */
function storedKey(store: PairStore): string | undefined {
  try {
    return store.current()?.key;
  } catch {
    // The pair is damaged: another key is made, and the next certificate replaces the pair.
    return undefined;
  }
}

/** Returns the key of an earlier attempt, or makes one and writes it there. */
function pendingKeyOf(path: string): string {
  if (existsSync(path)) {
    const key = readFileSync(path, 'utf8');
    try {
      return privateKeyPem(createPrivateKey(key));
    } catch (error) {
      throw new UserError(`${path} is not a private key: remove it`, { cause: error });
    }
  }
  const key = privateKeyPem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o755 });
  writeDurableFile(path, key);
  return key;
}

/** Creates the request for a key, or returns the one that an earlier attempt has created. */
async function requestOnce(
  client: Client,
  keyPem: string,
  { nodeName, signal, logger }: BootstrapConfig,
): ReturnType<typeof submitRequest> {
  const key = createPrivateKey(keyPem);
  const template = clientTemplate(nodeName);
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const name = requestName([
    publicKey,
    template.commonName,
    ...template.organizations,
    ...CLIENT_USAGES,
  ]);
  const wanted = {
    name,
    request: makeCertificateRequest(key, template),
    signerName: KUBE_API_SERVER_CLIENT_KUBELET,
    usages: CLIENT_USAGES,
  };
  try {
    return await submitRequest(client, wanted, signal);
  } catch (error) {
    if (!apierrors.isAlreadyExists(error)) throw error;
  }
  logger.info('csr for this node already exists, reusing', { csr: name });
  const present = await client.resource(certificateSigningRequests).get(name, { signal });
  const parsed = parseCertificateRequest(present.spec.request);
  if (!parsed.publicKey.equals(publicKey) || parsed.commonName !== template.commonName)
    throw new Error('retrieved csr is not compatible: it has another key or subject');
  return present;
}

/** Returns the name that upstream's kubelet gives the request with these parts. */
function requestName(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha512-256');
  for (const part of parts) hash.update(`${Buffer.from(part).toString('base64url')}|`);
  return `node-csr-${hash.digest('base64url')}`;
}

/** Waits a minute for the server at most: what follows fails by itself if it is still down. */
async function waitForServer(client: Client, config: BootstrapConfig): Promise<void> {
  const { clock, logger, signal } = config;
  const isUp = async (): Promise<boolean> => {
    const limit = new AbortController();
    const timer = clock.setTimer(HEALTH_TIMEOUT_MS, () => limit.abort(new wait.WaitTimeoutError()));
    try {
      const either = AbortSignal.any([signal, limit.signal]);
      await client.transport.text({ method: 'GET', path: '/healthz', signal: either });
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      logger.info('failed to connect to apiserver', { err: error });
      return false;
    } finally {
      timer.cancel();
    }
  };
  const limits = { clock, signal, intervalMs: HEALTH_RETRY_MS, timeoutMs: SERVER_WAIT_MS };
  try {
    await wait.pollImmediately(limits, isUp);
  } catch (error) {
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
    logger.warn('timed out waiting to connect to apiserver');
  }
}

/** Reports whether the kubelet's own kubeconfig has a client certificate that has not expired. */
async function isValid({ kubeconfig, clock, logger }: BootstrapConfig): Promise<boolean> {
  if (!existsSync(kubeconfig)) return false;
  try {
    const { context } = await loadKubeconfigParts(kubeconfig);
    const { clientCertificate, clientKey } = context;
    if (clientCertificate === undefined || clientKey === undefined)
      throw new Error('it has no client certificate');
    const { notAfter } = certificateOf(clientCertificate, clientKey);
    if (clock.now() > notAfter)
      throw new Error(`its client certificate has expired: ${new Date(notAfter).toISOString()}`);
    return true;
  } catch (error) {
    logger.warn('the kubeconfig cannot be used, bootstrapping', { kubeconfig, err: error });
    return false;
  }
}

async function load(flag: string, path: string): Promise<Loaded> {
  try {
    return await loadKubeconfigParts(path);
  } catch (error) {
    if (error instanceof KubeconfigError)
      throw new UserError(`${flag}: ${error.message}`, { cause: error });
    throw error;
  }
}

function writeOwnKubeconfig(
  { kubeconfig }: BootstrapConfig,
  { context, files }: Loaded,
  certificate: string,
): void {
  const { server, ca, insecureSkipTlsVerify, tlsServerName } = context;
  writeKubeconfigOfFiles(kubeconfig, {
    server,
    certificate,
    ...(files.ca !== undefined ? { caFile: files.ca } : ca !== undefined && { ca }),
    ...(insecureSkipTlsVerify !== undefined && { insecureSkipTlsVerify }),
    ...(tlsServerName !== undefined && { tlsServerName }),
  });
}
