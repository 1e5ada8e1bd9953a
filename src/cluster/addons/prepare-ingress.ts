// Decides where `cox up --ingress` listens, and finds out whether it can before anything is started.

import { createServer } from 'node:net';
import { machineAddresses } from '#kubelet/node/machine.ts';
import { type IpRange, parseCidr, parseIp, formatIp, bitsOf } from '#machinery/net/ip.ts';
import type { Facts } from '#ingress/index.ts';
import { UserError } from '../user-error.ts';

export interface IngressRequest {
  /** The addresses of Ingresses. Default: the machine's addresses and 127.0.0.1. */
  readonly addresses?: readonly string[];
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Addresses and ranges. See Facts.gatewayAddresses. */
  readonly gatewayAddresses?: readonly string[];
  /** Addresses and ranges. */
  readonly trustedProxies?: readonly string[];
  readonly accessLog?: boolean;
}

/** The names of the flags, for messages: `cox up` and `cox ingress` have different ones. */
export interface IngressFlagNames {
  readonly addresses: string;
  readonly httpPort: string;
  readonly httpsPort: string;
  readonly gatewayAddresses: string;
  readonly trustedProxies: string;
}

/** More addresses of a range are not used. */
const MAX_GATEWAY_ADDRESSES = 1024;

/** Rejects with UserError if an address or port cannot be had, or a range cannot be read. */
export async function prepareIngress(
  request: IngressRequest,
  flags: IngressFlagNames,
): Promise<Omit<Facts, 'unavailable'>> {
  const { httpPort, httpsPort } = request;
  if (httpPort === httpsPort)
    throw new UserError(`${flags.httpPort} and ${flags.httpsPort} must differ`);
  const machine = machineAddresses();
  const addresses = request.addresses ?? [...machine, '127.0.0.1'];
  for (const address of addresses) {
    await checkFree(address, httpPort, flags.httpPort, flags);
    await checkFree(address, httpsPort, flags.httpsPort, flags);
  }
  const reachable = addresses.filter((address) => !address.startsWith('127.') && address !== '::1');
  return {
    addresses,
    published: (reachable.length > 0 ? reachable : addresses).slice(0, 2),
    httpPort,
    httpsPort,
    gatewayAddresses: (request.gatewayAddresses ?? []).flatMap((text) =>
      addressesOf(flags.gatewayAddresses, text),
    ),
  };
}

/** Throws UserError. */
export function parseTrustedProxies(flag: string, texts: readonly string[] = []): IpRange[] {
  return texts.map((text) => {
    const range = parseCidr(text) ?? singleAddress(text);
    if (range === undefined)
      throw new UserError(`${flag}: ${JSON.stringify(text)} is no address or range`);
    return range;
  });
}

function singleAddress(text: string): IpRange | undefined {
  const address = parseIp(text);
  return address === undefined ? undefined : parseCidr(`${text}/${bitsOf(address.family)}`);
}

function addressesOf(flag: string, text: string): string[] {
  const [range] = parseTrustedProxies(flag, [text]) as [IpRange];
  const result: string[] = [];
  for (
    let value = range.first;
    value <= range.last && result.length < MAX_GATEWAY_ADDRESSES;
    value++
  ) {
    // The first and last address of a network are not for hosts.
    const isEdge =
      (value === range.first || value === range.last) &&
      range.last - range.first > 2n &&
      range.family === 'IPv4';
    if (!isEdge) result.push(formatIp({ family: range.family, value }));
  }
  return result;
}

function checkFree(
  host: string,
  port: number,
  flag: string,
  flags: IngressFlagNames,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (err: NodeJS.ErrnoException) =>
      reject(asUserError(err, host, port, flag, flags)),
    );
    server.listen({ host, port }, () => server.close(() => resolve()));
  });
}

function asUserError(
  err: NodeJS.ErrnoException,
  host: string,
  port: number,
  flag: string,
  flags: IngressFlagNames,
): Error {
  switch (err.code) {
    case 'EACCES':
      return new UserError(
        `the ingress cannot have port ${port} without root: choose another with ${flag}`,
        {
          cause: err,
        },
      );
    case 'EADDRINUSE':
      return new UserError(
        `the ingress cannot have port ${port} of ${host}, which is in use: choose another with ${flag}, ` +
          `or other addresses with ${flags.addresses}`,
        { cause: err },
      );
    case 'EADDRNOTAVAIL':
      return new UserError(`${flags.addresses}: ${host} is no address of this machine`, {
        cause: err,
      });
    default:
      return new UserError(`the ingress cannot listen at port ${port} of ${host}: ${err.message}`, {
        cause: err,
      });
  }
}
