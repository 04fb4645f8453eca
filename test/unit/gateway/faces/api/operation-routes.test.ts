import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import express, { type Response } from 'express';
import { expect, test } from 'vitest';
import { stream } from '../../../../../gateway/faces/api/operation-routes.ts';

test.each(['before the download', 'while the first page is read'])(
  'a browser that leaves %s is no error',
  async (when) => {
    const res = new ServerResponse(new IncomingMessage(new Socket())) as Response;
    Object.setPrototypeOf(res, express.response);
    if (when.startsWith('before')) res.destroy();
    async function* write() {
      await Promise.resolve(res.destroy());
      yield 'page';
    }
    await expect(stream(res, write())).resolves.toBeUndefined();
  },
);
