// Printed from the OpenAPI document by `npm run sdk`; do not edit.

import type { Order, ReferenceOrder, Company, SalesPoint, Collector, BuyButton, BuyButtonSession, StaticLink, TillDevice, User, Kyc, ChannelRule } from './schemas.ts'

/** What each operation takes and answers. */
export interface Operations {
  /** Create an order or a payment link. Creates an order in state INITIAL at a fresh rate. With `alias` it is a payment link. Show `paymentUrl` to the payer as a link or QR code. Name the till (`merchantIdentifier`), or the website with its buy-button session (`websiteUrl` and `sessionId`). A `sessionId` always counts: with a till too, the order costs the session’s price and uses the session up. */
  createOrder: {
    params: {
      /** For operators: the company whose till `merchantIdentifier` names. Not needed with a till’s id. */
      companyId?: string
      /** At a till, for a sale that waited there and that you took over: id of the colleague who had typed it. The order is yours; its history names the colleague. */
      soldBy?: string
      body: {
        /** In fromAsset: decimal text, exact; or a number, which means the amount within 0.000001 of it. At least 0.10, at most the company’s maximum, which is in EUR. With a session: its price, which a SimpleUser may leave out, as fromAsset. */
        amount: number | string
        /** EUR, CHF, XPF, USD or GBP. */
        fromAsset: string
        /** USDC. */
        toAsset?: string
        /** The till, for a sale in the shop. */
        merchantIdentifier?: string
        /** The website, for a sale online. */
        websiteUrl?: string
        /** The buy-button session: the order costs its price. Required with websiteUrl, also taken at a till. */
        sessionId?: string
        /** Receives the order’s events. */
        webhookUrl?: string
        /** Where the payer goes after cancelling. */
        cancelUrl?: string
        /** Where the payer goes after paying. */
        returnUrl?: string
        /** Makes the order a payment link, valid for one month. Any text except "." and "..". Free again once its order has ended; late money for that order may then wait for a person. */
        alias?: string
        /** The payer’s identity is not required. */
        anonymous?: boolean
        /** Only with alias. */
        expiryMinutes?: number
        /** What is sold. */
        goods?: {
          /** Name of the goods. */
          goodsName?: string
          /** 01 tangible, 02 virtual */
          goodsType?: "01" | "02"
          /** Four-digit category of the goods. */
          goodsCategory?: "0000" | "1000" | "2000" | "3000" | "4000" | "5000" | "6000" | "7000" | "8000" | "9000" | "A000" | "B000" | "C000" | "D000" | "E000" | "F000" | "Z000"
          /** More about the goods. */
          goodsDetail?: string
          /** How many. */
          goodsQuantity?: string
        }
        /** Your own names and texts, at most 50: names of 1 to 40 characters, texts of at most 500, and 8,000 characters of JSON in all. Kept as sent, and shown to your company only, never to payers. A name with null or an empty text is left out. No personal data, because the erasure of the payer leaves it. */
        metadata?: Record<string, string>
      }
    }
    data: {
      /** Order code: unguessable, used in paths. */
      code: string
      /** The order. */
      order: Order
      /** Pay page of the order. */
      paymentUrl: string
    }
  }
  /** Order by code. Anyone who has the code may read the order. Readers with a credential of its company also see `webhookUrl` and `metadata`. */
  getOrderByCode: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: Order
  }
  /** Newest order with your reference (alias). With a credential: the newest order of your company with this alias. Without one: the newest with it, if a single company ever used that alias; `_id`, `code`, `shortCode` and `paymentUrl` are then null. While the newest is neither paid nor being paid, an earlier one that was paid since it was made is answered instead. Where no alias matches, the newest order of a buy button with this `orderRef`, which any visitor of its page can name: its `alias` is null. While a session of your server has it, only an order of your sessions, or one paid since at its price. */
  getOrderByReference: {
    params: {
      /** For users of several companies: only this one. */
      companyId?: string
      /** The alias given at creation, or the orderRef of the session; any characters. */
      reference: string
    }
    data: ReferenceOrder
  }
  /** Cancel an unpaid order. Ends an order that is not paid, and closes its payment at the provider. Repeating it changes nothing. */
  cancelOrder: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: null
  }
  /** End a payment link or order now. Ends a payment link or an order before its time. Repeating it changes nothing. */
  expireOrder: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: null
  }
  /** List orders. The orders that you may see, newest first. `nextCursor` pages without depth limit. */
  listOrders: {
    params: {
      /** Repeat it, or separate by commas; `status[]` is read too. */
      status?: Array<"INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED">
      /** In code, shortCode, alias and amount (the price, or what arrived); a transaction hash, a deposit address, or the id of a payment at its provider. */
      search?: string
      /** SuperAdmin and SuperManager only. */
      managerEmail?: string
      /** One company of those you see. */
      companyId?: string
      /** createdAt at or after. A date alone: its beginning, UTC. */
      from?: string
      /** createdAt at or before. A date alone: its end, UTC. */
      to?: string
      /** Payment channel. */
      paymentChannel?: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** One till: its identifier as the orders have it, or its id, which also finds those of earlier names. */
      merchantIdentifier?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
      /** By fromAmount, 100 of any currency are equal; toAmount puts all of them in order of their worth. */
      sort?: "-createdAt" | "createdAt" | "-fromAmount" | "fromAmount" | "-toAmount" | "toAmount"
      /** `nextCursor` of the previous answer; no depth limit. */
      cursor?: string
    }
    data: {
      /** The orders of this page. */
      orders: Array<Order>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
      /** Send it as `cursor` for the next page; null at the end. */
      nextCursor: string | null
    }
  }
  /** List payment links. Orders with an alias, newest first. The next page is in the `Link` header. */
  listPaymentLinks: {
    params: {
      /** Repeat it, or separate by commas; `status[]` is read too. */
      status?: Array<"INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED">
      /** In code, shortCode, alias and amount (the price, or what arrived); a transaction hash, a deposit address, or the id of a payment at its provider. */
      search?: string
      /** SuperAdmin and SuperManager only. */
      managerEmail?: string
      /** One company of those you see. */
      companyId?: string
      /** createdAt at or after. A date alone: its beginning, UTC. */
      from?: string
      /** createdAt at or before. A date alone: its end, UTC. */
      to?: string
      /** Payment channel. */
      paymentChannel?: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** One till: its identifier as the orders have it, or its id, which also finds those of earlier names. */
      merchantIdentifier?: string
      /** How many at most. */
      limit?: number
      /** `Comptoir-Next-Cursor` of the answer before. */
      cursor?: string
    }
    data: Array<Order>
  }
  /** Everything that happened to an order. Every state, payment, call to a provider, transfer, refund, webhook with its attempts, booking, identity check and screening, oldest first, and the proof of the rate. Of each kind the newest 1000 are shown; `omitted` says how many older ones there are. `comptoir explain` and the back office turn it into words. What lies behind the counter (webhooks, provider calls, bookings, identity) is shown to those who may see deliveries. */
  getOrderStory: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: {
      /** Order code: unguessable, used in paths. */
      code: string
      /** The entries, newest first. */
      entries: Array<{
        /** When it began. UTC, with milliseconds. */
        at: string
        /** What kind of thing happened. */
        kind: "state" | "payment" | "provider" | "transfer" | "mispayment" | "refund" | "webhook" | "attempt" | "booking" | "identity" | "screening"
        /** What is known of it, by kind. Amounts are in the smallest units of their asset, but `amount` is decimal text. */
        facts: Record<string, string | number | null>
      }>
      /** How many older entries are not shown. */
      omitted: number
      /** The rate of the order and its proof; null once the proof is no longer kept. */
      rate: {
        /** USDC for one unit of the order’s currency. */
        rate: string
        /** When it was asked for. */
        at: string
        /** Every source that was asked, taken or dropped, with the reason. */
        evidence: unknown
      } | null
    }
  }
  /** Download orders as CSV or XLSX. Every order that fits the filters when the download begins, once. `X-Total-Count` is their number. A transfer that breaks off is never ended normally: clients must treat such a file as incomplete. The columns add up to the books: `paidAmount` is what was booked of the price, `overpaidAmount` what was paid above it, `refundedExcessAmount` the part of `refundedAmount` that came from above the price, and `lostAmount` what left the chain and the company bears, less what came back. The company keeps `paidAmount` − `feeAmount` − (`refundedAmount` − `refundedExcessAmount`) − `lostAmount`. Of an order in `REFUNDING`, the books have already deducted what its refund has reserved; `refundedAmount` has it once the refund is settled. `metadata` is JSON. */
  downloadOrders: {
    params: {
      /** Repeat it, or separate by commas; `status[]` is read too. */
      status?: Array<"INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED">
      /** In code, shortCode, alias and amount (the price, or what arrived); a transaction hash, a deposit address, or the id of a payment at its provider. */
      search?: string
      /** SuperAdmin and SuperManager only. */
      managerEmail?: string
      /** One company of those you see. */
      companyId?: string
      /** createdAt at or after. A date alone: its beginning, UTC. */
      from?: string
      /** createdAt at or before. A date alone: its end, UTC. */
      to?: string
      /** Payment channel. */
      paymentChannel?: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** One till: its identifier as the orders have it, or its id, which also finds those of earlier names. */
      merchantIdentifier?: string
      /** Format of the answer. */
      format?: "csv" | "xlsx"
      /** Titles of the columns in this language; without it, the names of the API. */
      headers?: "en" | "fr" | "de" | "es" | "it"
      /** CSV with a byte order mark, for old spreadsheets. */
      bom?: boolean
      /** CSV that broke off: the `_id` of its last whole row. What comes is the rest, without the line of titles, with the same filters and sort. */
      after?: string
      /** Order of the list; a minus means descending. */
      sort?: "-createdAt" | "createdAt"
    }
    data: Response
  }
  /** Choose a payment channel. Answers what the payer needs. Repeating it with the same channel gives the same instructions. */
  acceptOrder: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
      body: {
        /** How the payer pays. */
        paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
        /** Where the payer goes after cancelling. */
        cancelUrl?: string
        /** Where the payer goes after paying. */
        returnUrl?: string
        /** Chain id; needed for `crypto` when several networks are offered. */
        network?: number
        /** E-mail of the payer. */
        payerEmail?: string
        /** True: the payer’s identity is not required for this order. The shop’s choice: a SimpleUser’s is ignored. */
        anonymous?: boolean
        /** The payer’s wallet address. */
        userAddress?: string
        /** Accept an unpaid order that expired or failed, at a fresh rate: `toAmount`, `rate` and `expiresAt` change, code and page stay. Possible for `requoteHours` of the company. */
        requote?: boolean
        /** The till’s own number, kept for the story of the order. */
        pos?: string
        /** Codes of earlier orders of this payer, kept for the story of the order. */
        pastOrders?: Array<string>
      }
    }
    data: {
      /** Payment channel. */
      paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Where the object stands. */
      status: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED"
      /** When it ends; null: never. */
      expiresAt: string
      /** What to show as a QR code. */
      qrData: string | null
      /** Opens the payer’s app. */
      deepLink: string | null
      /** The provider’s own page. */
      checkoutUrl: string | null
      /** `crypto`: the deposit address of this order. */
      toAddress: string | null
      /** `crypto`: USDC to send, decimal text with 6 digits. */
      tokenAmount: string | null
      /** `crypto`: the USDC contract. */
      tokenAddress: string | null
      /** `crypto`: chain id. */
      network: number | null
      /** `crypto`: EIP-681 link for wallets. */
      paymentUri: string | null
      /** The payment’s id at the provider. */
      providerReference: string | null
    }
  }
  /** Ask the channel now whether the payment arrived. The payer says that it is done: the channel is asked at once. It never marks an order paid without the channel’s word. */
  confirmOrder: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: null
  }
  /** Name the transaction that pays an order. For a payment on a chain that does not show. The transaction is looked up and counts what the scanner would count. `counted` is true once it is recorded for the order; repeating the request returns the same. */
  nameTransaction: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
      body: {
        /** 0x and 64 hexadecimal digits. */
        txHash: string
        /** Chain id; without it every chain is asked. */
        network?: number
      }
    }
    data: {
      /** A chain knows the transaction. */
      found: boolean
      /** It is recorded as money for this order. */
      counted: boolean
      /** Why it does not count, or what it waits for. */
      reason: string
    }
  }
  /** Save payer information. Stores who pays: encrypted, erasable, never part of an order. Every field is optional and checked when given. */
  savePayerInformation: {
    params: {
      body: {
        /** Order code: unguessable, used in paths. */
        code: string
        /** Payer information. Stored encrypted; never part of an order, a list or an export. */
        payerInformation: {
          /** First name */
          firstName?: string
          /** Last name */
          lastName?: string
          /** E-mail address. */
          email?: string
          /** Street and number */
          address1?: string
          /** More of the address */
          address2?: string
          /** City */
          city?: string
          /** State or canton */
          state?: string
          /** ISO 3166-1 alpha-2, for example FR */
          country?: string
          /** Postal code */
          zipCode?: string
          /** Whole address in one line */
          postalAddress?: string
          /** The payer’s wallet address */
          userAddress?: string
          /** Whether the payer is a company. */
          isCompany?: boolean
          /** Required when isCompany is true */
          companyName?: string
          /** 14 digits, France only */
          companySiret?: string
          /** VAT number with its prefix */
          companyVatNumber?: string
        }
      }
    }
    data: null
  }
  /** Set the payer’s e-mail. Stores where the payer gets mail about this order. */
  setPayerEmail: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
      body: {
        /** E-mail address. */
        email: string
      }
    }
    data: null
  }
  /** Read payer information. Who paid, decrypted for this answer. The reading is in the audit log. */
  getPayerInformation: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: {
      /** First name */
      firstName?: string
      /** Last name */
      lastName?: string
      /** E-mail address. */
      email?: string
      /** Street and number */
      address1?: string
      /** More of the address */
      address2?: string
      /** City */
      city?: string
      /** State or canton */
      state?: string
      /** ISO 3166-1 alpha-2, for example FR */
      country?: string
      /** Postal code */
      zipCode?: string
      /** Whole address in one line */
      postalAddress?: string
      /** The payer’s wallet address */
      userAddress?: string
      /** Whether the payer is a company. */
      isCompany?: boolean
      /** Required when isCompany is true */
      companyName?: string
      /** 14 digits, France only */
      companySiret?: string
      /** VAT number with its prefix */
      companyVatNumber?: string
    }
  }
  /** Erase payer information. For an erasure request (GDPR). The files that prove refunds sent by hand go as well, and the wallet given at accept, unless money of the order may go back to it; the order, its payments and the books stay, and so do notes of the staff: `notes` says how many there are. This cannot be undone. */
  erasePayerInformation: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: {
      /** Whether there was anything to erase. */
      erased: boolean
      /** How many notes of the staff the order has. They may name the payer: read them, and remove those that do (GET and DELETE /confirm_conversion/notes). */
      notes: number
    }
  }
  /** Find the orders of a payer. The orders whose payer has this e-mail. It is sent in the body, so that it stands in no log; each call is in the audit log, without it. */
  findPayerOrders: {
    params: {
      body: {
        /** The whole address, in capitals or not. */
        payerEmail: string
        /** Only these states. */
        status?: Array<string>
        /** SuperAdmin and SuperManager only. */
        managerEmail?: string
        /** One company of those you see. */
        companyId?: string
        /** createdAt at or after. A date alone: its beginning, UTC. */
        from?: string
        /** createdAt at or before. A date alone: its end, UTC. */
        to?: string
        /** Payment channel. */
        paymentChannel?: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
        /** One till: its identifier as the orders have it, or its id, which also finds those of earlier names. */
        merchantIdentifier?: string
        /** Number of the page, from 1. */
        page?: number
        /** How many at most. */
        limit?: number
        /** By fromAmount, 100 of any currency are equal; toAmount puts all of them in order of their worth. */
        sort?: "-createdAt" | "createdAt" | "-fromAmount" | "fromAmount" | "-toAmount" | "toAmount"
        /** `nextCursor` of the previous answer; no depth limit. */
        cursor?: string
      }
    }
    data: {
      /** The orders of this page. */
      orders: Array<Order>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
      /** Send it as `cursor` for the next page; null at the end. */
      nextCursor: string | null
      /** False: some payers are not indexed yet, after an upgrade. Ask again in some minutes. */
      complete: boolean
    }
  }
  /** Mail the link of an order to its payer. While the order waits for a payment. The mail names the company, the amount, the alias or the goods, and the end of the order. The address is saved as the payer’s e-mail: the receipt goes there too. At most 3 mails for an order besides its reminder (then 409), 200 a day for a company and 10 an hour to one mailbox, reminders included (then 429). */
  sendOrderLink: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
      body: {
        /** E-mail address. */
        email: string
        /** Default: what the payer used on the pages, else the language of the last such mail, else the company’s choice. */
        language?: "en" | "fr" | "de" | "es" | "it"
        /** One more mail a day before the order ends, if no money has come by then; false takes it back. Default: as it was, at first none. */
        remind?: boolean
      }
    }
    data: {
      /** How often the link of this order was mailed, this time included. */
      sent: number
      /** How often it may still be mailed. */
      left: number
      /** Default: what the payer used on the pages, else the language of the last such mail, else the company’s choice. */
      language: "en" | "fr" | "de" | "es" | "it"
      /** When the payer is reminded. Null: not wanted, done, or the order ends within a day. */
      remindAt: string | null
    }
  }
  /** Notes of the staff on an order. What colleagues wrote on the order, newest first. It may name the payer, so only people of the staff read it; no order, webhook or file carries it. */
  listOrderNotes: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: {
      /** Newest first; at most 100. */
      notes: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** Who wrote it: `user:<id>`. */
        author: string
        /** The person’s name as it was then. */
        authorName: string | null
        /** UTC with milliseconds. */
        createdAt: string
        /** Whether you may remove it. */
        removable: boolean
        /** Plain text with line breaks. Null: it was encrypted with a master key that is no longer there. */
        text: string | null
      }>
    }
  }
  /** Write a note on an order. Writes a note for colleagues. It cannot be changed, only removed. */
  addOrderNote: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
      body: {
        /** 1 to 2000 characters without the blanks at its ends. Line breaks are kept; other control characters are refused. */
        text: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Who wrote it: `user:<id>`. */
      author: string
      /** The person’s name as it was then. */
      authorName: string | null
      /** UTC with milliseconds. */
      createdAt: string
      /** Whether you may remove it. */
      removable: boolean
    }
  }
  /** Remove a note from an order. Removes a note for good. Its author may, and a manager; the audit log keeps who did, and not the text. */
  removeOrderNote: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: null
  }
  /** How much of an order can be refunded, and where to. What arrived, less what was refunded, returned separately or ignored. It may differ from the price: more or less than the price may have arrived. */
  getRefundable: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: {
      /** Decimal text. "0" while the order cannot be refunded. */
      refundableAmount: string
      /** The asset, as its symbol. */
      asset: "USDC"
      /** Whose order it is, as payers know it. */
      company: string
      /** Through which the money goes back. Null while the order cannot be refunded. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay" | null
      /** Chain id of the addresses. Null: the provider knows where to. */
      network: number | null
      /** Where a refund goes that names no address: the payer stated it. Null with a `network`: the payer is asked. */
      address: string | null
      /** Set instead of `address` where someone else named it: the payer is asked to confirm it, and may name another. */
      proposedAddress: string | null
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** All that the payer stated: a refund that names one of them needs no proof. */
      statedAddresses: Array<string>
    }
  }
  /** Refund a paid order, wholly or in part. The body is optional; without it, refunds all that is left. An unknown name and an empty `amount` or `mostOwed` are refused. Follow `refundId` with GET /refunds/{id}. */
  revertOrder: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
      body?: {
        /** USDC, decimal text. Absent: all that is left. */
        amount?: string
        /** Why, in words; kept in the history. */
        reason?: string
        /** Refund although the company’s balance does not cover it. SuperAdmin only, with a fresh second factor. */
        withoutCover?: boolean
        /** With withoutCover: the most that the company may owe the operator afterwards, `owedAfter` in the details of REFUND_NOT_COVERED. If it would owe more by now, nothing is refunded, and the answer has the new figures. */
        mostOwed?: string
        /** On-chain refunds: where the money goes. One that the payer did not state before (at accept or in the payer information) needs a proof; without it the payer is asked to confirm it, and nothing is sent before. What goes back through its provider takes no address: 422. */
        address?: string
        /** Why the address is what the payer wants: a signature over the text of GET /refunds/address-message, or the statement of a second person, with a fresh second factor and its evidence. */
        addressProof?: {
          /** EIP-191, by the destination or by the address that paid. */
          signature: string
          /** What was signed; may be left out. */
          message?: string
        } | {
          /** How the payer asked for it, stated by a person. */
          statement: string
          /** Where to look it up, such as a ticket number. */
          evidence: string
        }
      }
    }
    data: {
      /** Follow it with GET /refunds/{id}. */
      refundId: string
    }
  }
  /** Exchange rate of a currency. The median of the price sources that answered in time. */
  getExchangeInfo: {
    params: {
      /** Fiat currency. */
      fromAsset: string
      /** Settlement asset. */
      toAsset: string
    }
    data: {
      /** Units of `toAsset` for one unit of `fromAsset`. */
      price: number
      /** Fiat currency. */
      fromAsset: string
      /** Settlement asset. */
      toAsset: string
      /** The price sources whose median this is. */
      source: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
    }
  }
  /** List refunds. Refunds, newest first, each with the code of its order. */
  listRefunds: {
    params: {
      /** For users of several companies: only this one. */
      companyId?: string
      /** Only of this order. */
      code?: string
      /** `waiting`: a person of yours has to approve it, name its address, or send it, as `needs.refunds` of GET /summary counts them. */
      status?: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused" | "waiting"
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The refunds of this page. */
      refunds: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** `_id` of the order. */
        orderId: string
        /** Of its order. */
        code: string
        /** Short form of the code, for reading aloud. */
        shortCode: string
        /** Whose order it is, as payers know it. */
        company: string
        /** Set: money that never paid the order goes back. */
        mispaymentId: string | null
        /** Where the object stands. */
        status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
        /** USDC, 6 digits. */
        amount: string
        /** The part above the order’s price. */
        excessAmount: string
        /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
        withoutCover: boolean
        /** Payment channel. */
        channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
        /** Wallet address. */
        address: string | null
        /** Named without a proof: nothing goes there before the payer confirms it. */
        proposedAddress: string | null
        /** Who named it; a second person may vouch for it. */
        proposedBy: string | null
        /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
        proposer: {
          /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
          by: string
          /** Of the person, or of the key. */
          name: string | null
          /** Of a key: the name of the person who created it, if recorded. */
          keyOf: string | null
        } | null
        /** The person of the shop who vouches for it; one more has to, if the payer named it. */
        confirmedBy: string | null
        /** What the payer had named before the proposed address took its place. */
        replacedAddress: string | null
        /** Why this destination is trusted. */
        addressProof: {
          /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
          kind: "stated" | "payer" | "signature" | "attested"
          /** Who said it. */
          by: string
          /** When it happened. UTC, with milliseconds. */
          at: string
          /** Where it was given. */
          source?: "accept" | "payerInformation"
          /** Address that signed. */
          signer?: string
          /** `destination`: the address signed for itself. `sender`: the address that paid. */
          signerIs?: "destination" | "sender"
          /** A person says how the payer asked for it. */
          statement?: string
          /** Where that can be looked up. */
          evidence?: string
        } | null
        /** The payer got a mail with the link of the page for it. */
        askedByMail: boolean
        /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
        emailWriter: {
          /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
          by: string
          /** Of the person, or of the key. */
          name: string | null
          /** Of a key: the name of the person who created it, if recorded. */
          keyOf: string | null
        } | null
        /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
        addressUrl: string | null
        /** While a proposed address waits: what its owner or the payer can sign instead. */
        addressMessage: string | null
        /** Chain id. */
        network: number | null
        /** Why, in words; kept in the history. */
        reason: string | null
        /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
        approvalReason: "company" | "limit" | null
        /** Who asked for it. */
        requestedBy: string
        /** Who decided. */
        decidedBy: string | null
        /** Hash of the transaction. */
        txHash: string | null
        /** The last status from the provider or the chain. */
        message: string | null
        /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
        toSendByHand: boolean
        /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
        heldBy: "company" | "operator"
        /** A person sent the money; only such a refund takes a proof file. */
        settledByHand: boolean
        /** The proof file: GET /refunds/{id}/proof. */
        proof: {
          /** Media type of the file. */
          mime: "image/webp" | "application/pdf"
          /** Bytes of the file. */
          size: number
          /** SHA-256 of the file as it is kept. */
          sha256: string
          /** Who said it. */
          by: string
          /** When it happened. UTC, with milliseconds. */
          at: string
          /** When the file went with the payer’s data; null: it is there. */
          erasedAt: string | null
        } | null
        /** When it was created. UTC, with milliseconds. */
        createdAt: string
        /** When it last changed. UTC, with milliseconds. */
        updatedAt: string
        /** When the money had arrived; null before. */
        settledAt: string | null
      }>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** One refund. One refund with everything that was decided about it. */
  getRefund: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** `_id` of the order. */
      orderId: string
      /** Of its order. */
      code: string
      /** Short form of the code, for reading aloud. */
      shortCode: string
      /** Whose order it is, as payers know it. */
      company: string
      /** Set: money that never paid the order goes back. */
      mispaymentId: string | null
      /** Where the object stands. */
      status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
      /** USDC, 6 digits. */
      amount: string
      /** The part above the order’s price. */
      excessAmount: string
      /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
      withoutCover: boolean
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Wallet address. */
      address: string | null
      /** Named without a proof: nothing goes there before the payer confirms it. */
      proposedAddress: string | null
      /** Who named it; a second person may vouch for it. */
      proposedBy: string | null
      /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
      proposer: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** The person of the shop who vouches for it; one more has to, if the payer named it. */
      confirmedBy: string | null
      /** What the payer had named before the proposed address took its place. */
      replacedAddress: string | null
      /** Why this destination is trusted. */
      addressProof: {
        /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
        kind: "stated" | "payer" | "signature" | "attested"
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Where it was given. */
        source?: "accept" | "payerInformation"
        /** Address that signed. */
        signer?: string
        /** `destination`: the address signed for itself. `sender`: the address that paid. */
        signerIs?: "destination" | "sender"
        /** A person says how the payer asked for it. */
        statement?: string
        /** Where that can be looked up. */
        evidence?: string
      } | null
      /** The payer got a mail with the link of the page for it. */
      askedByMail: boolean
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
      addressUrl: string | null
      /** While a proposed address waits: what its owner or the payer can sign instead. */
      addressMessage: string | null
      /** Chain id. */
      network: number | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
      approvalReason: "company" | "limit" | null
      /** Who asked for it. */
      requestedBy: string
      /** Who decided. */
      decidedBy: string | null
      /** Hash of the transaction. */
      txHash: string | null
      /** The last status from the provider or the chain. */
      message: string | null
      /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
      toSendByHand: boolean
      /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
      heldBy: "company" | "operator"
      /** A person sent the money; only such a refund takes a proof file. */
      settledByHand: boolean
      /** The proof file: GET /refunds/{id}/proof. */
      proof: {
        /** Media type of the file. */
        mime: "image/webp" | "application/pdf"
        /** Bytes of the file. */
        size: number
        /** SHA-256 of the file as it is kept. */
        sha256: string
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** When the file went with the payer’s data; null: it is there. */
        erasedAt: string | null
      } | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When the money had arrived; null before. */
      settledAt: string | null
    }
  }
  /** What a payer signs to have a refund sent to an address. For the refund that waits for its address, otherwise for the next one. To be signed as wallets sign texts (EIP-191, personal_sign), by the address itself or by the one that paid. */
  getRefundAddressMessage: {
    params: {
      /** Of the order. */
      code: string
      /** Wallet address. */
      address: string
      /** USDC, decimal text. Absent: all that is left. */
      amount?: string
      /** Money that never paid it. */
      mispaymentId?: string
    }
    data: {
      /** The exact text to sign. */
      message: string
      /** Its number among the refunds of the order. */
      refund: number
      /** Decimal text in the asset of the object. */
      amount: string
      /** Chain id. */
      network: number | null
    }
  }
  /** Approve a refund. The operator approves a refund that waits for it. */
  approveRefund: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** `_id` of the order. */
      orderId: string
      /** Of its order. */
      code: string
      /** Short form of the code, for reading aloud. */
      shortCode: string
      /** Whose order it is, as payers know it. */
      company: string
      /** Set: money that never paid the order goes back. */
      mispaymentId: string | null
      /** Where the object stands. */
      status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
      /** USDC, 6 digits. */
      amount: string
      /** The part above the order’s price. */
      excessAmount: string
      /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
      withoutCover: boolean
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Wallet address. */
      address: string | null
      /** Named without a proof: nothing goes there before the payer confirms it. */
      proposedAddress: string | null
      /** Who named it; a second person may vouch for it. */
      proposedBy: string | null
      /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
      proposer: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** The person of the shop who vouches for it; one more has to, if the payer named it. */
      confirmedBy: string | null
      /** What the payer had named before the proposed address took its place. */
      replacedAddress: string | null
      /** Why this destination is trusted. */
      addressProof: {
        /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
        kind: "stated" | "payer" | "signature" | "attested"
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Where it was given. */
        source?: "accept" | "payerInformation"
        /** Address that signed. */
        signer?: string
        /** `destination`: the address signed for itself. `sender`: the address that paid. */
        signerIs?: "destination" | "sender"
        /** A person says how the payer asked for it. */
        statement?: string
        /** Where that can be looked up. */
        evidence?: string
      } | null
      /** The payer got a mail with the link of the page for it. */
      askedByMail: boolean
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
      addressUrl: string | null
      /** While a proposed address waits: what its owner or the payer can sign instead. */
      addressMessage: string | null
      /** Chain id. */
      network: number | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
      approvalReason: "company" | "limit" | null
      /** Who asked for it. */
      requestedBy: string
      /** Who decided. */
      decidedBy: string | null
      /** Hash of the transaction. */
      txHash: string | null
      /** The last status from the provider or the chain. */
      message: string | null
      /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
      toSendByHand: boolean
      /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
      heldBy: "company" | "operator"
      /** A person sent the money; only such a refund takes a proof file. */
      settledByHand: boolean
      /** The proof file: GET /refunds/{id}/proof. */
      proof: {
        /** Media type of the file. */
        mime: "image/webp" | "application/pdf"
        /** Bytes of the file. */
        size: number
        /** SHA-256 of the file as it is kept. */
        sha256: string
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** When the file went with the payer’s data; null: it is there. */
        erasedAt: string | null
      } | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When the money had arrived; null before. */
      settledAt: string | null
    }
  }
  /** Reject a refund; the order returns to its earlier state. The operator refuses a refund, also one whose named transaction vanished, or that left before a restore with another amount or to another address. The order returns to the state before it. */
  rejectRefund: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Why, in words; kept in the history. */
        reason: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** `_id` of the order. */
      orderId: string
      /** Of its order. */
      code: string
      /** Short form of the code, for reading aloud. */
      shortCode: string
      /** Whose order it is, as payers know it. */
      company: string
      /** Set: money that never paid the order goes back. */
      mispaymentId: string | null
      /** Where the object stands. */
      status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
      /** USDC, 6 digits. */
      amount: string
      /** The part above the order’s price. */
      excessAmount: string
      /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
      withoutCover: boolean
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Wallet address. */
      address: string | null
      /** Named without a proof: nothing goes there before the payer confirms it. */
      proposedAddress: string | null
      /** Who named it; a second person may vouch for it. */
      proposedBy: string | null
      /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
      proposer: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** The person of the shop who vouches for it; one more has to, if the payer named it. */
      confirmedBy: string | null
      /** What the payer had named before the proposed address took its place. */
      replacedAddress: string | null
      /** Why this destination is trusted. */
      addressProof: {
        /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
        kind: "stated" | "payer" | "signature" | "attested"
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Where it was given. */
        source?: "accept" | "payerInformation"
        /** Address that signed. */
        signer?: string
        /** `destination`: the address signed for itself. `sender`: the address that paid. */
        signerIs?: "destination" | "sender"
        /** A person says how the payer asked for it. */
        statement?: string
        /** Where that can be looked up. */
        evidence?: string
      } | null
      /** The payer got a mail with the link of the page for it. */
      askedByMail: boolean
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
      addressUrl: string | null
      /** While a proposed address waits: what its owner or the payer can sign instead. */
      addressMessage: string | null
      /** Chain id. */
      network: number | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
      approvalReason: "company" | "limit" | null
      /** Who asked for it. */
      requestedBy: string
      /** Who decided. */
      decidedBy: string | null
      /** Hash of the transaction. */
      txHash: string | null
      /** The last status from the provider or the chain. */
      message: string | null
      /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
      toSendByHand: boolean
      /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
      heldBy: "company" | "operator"
      /** A person sent the money; only such a refund takes a proof file. */
      settledByHand: boolean
      /** The proof file: GET /refunds/{id}/proof. */
      proof: {
        /** Media type of the file. */
        mime: "image/webp" | "application/pdf"
        /** Bytes of the file. */
        size: number
        /** SHA-256 of the file as it is kept. */
        sha256: string
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** When the file went with the payer’s data; null: it is there. */
        erasedAt: string | null
      } | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When the money had arrived; null before. */
      settledAt: string | null
    }
  }
  /** Set where an on-chain refund goes. Without a proof, an address that the payer did not state is a proposal: the payer is asked to confirm it. Statement and evidence count only for the address that is proposed now; otherwise the answer is 409. */
  setRefundAddress: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Wallet address. */
        address: string
        /** Why the address is what the payer wants: a signature over the text of GET /refunds/address-message, or the statement of a second person, with a fresh second factor and its evidence. */
        addressProof?: {
          /** EIP-191, by the destination or by the address that paid. */
          signature: string
          /** What was signed; may be left out. */
          message?: string
        } | {
          /** How the payer asked for it, stated by a person. */
          statement: string
          /** Where to look it up, such as a ticket number. */
          evidence: string
        }
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** `_id` of the order. */
      orderId: string
      /** Of its order. */
      code: string
      /** Short form of the code, for reading aloud. */
      shortCode: string
      /** Whose order it is, as payers know it. */
      company: string
      /** Set: money that never paid the order goes back. */
      mispaymentId: string | null
      /** Where the object stands. */
      status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
      /** USDC, 6 digits. */
      amount: string
      /** The part above the order’s price. */
      excessAmount: string
      /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
      withoutCover: boolean
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Wallet address. */
      address: string | null
      /** Named without a proof: nothing goes there before the payer confirms it. */
      proposedAddress: string | null
      /** Who named it; a second person may vouch for it. */
      proposedBy: string | null
      /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
      proposer: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** The person of the shop who vouches for it; one more has to, if the payer named it. */
      confirmedBy: string | null
      /** What the payer had named before the proposed address took its place. */
      replacedAddress: string | null
      /** Why this destination is trusted. */
      addressProof: {
        /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
        kind: "stated" | "payer" | "signature" | "attested"
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Where it was given. */
        source?: "accept" | "payerInformation"
        /** Address that signed. */
        signer?: string
        /** `destination`: the address signed for itself. `sender`: the address that paid. */
        signerIs?: "destination" | "sender"
        /** A person says how the payer asked for it. */
        statement?: string
        /** Where that can be looked up. */
        evidence?: string
      } | null
      /** The payer got a mail with the link of the page for it. */
      askedByMail: boolean
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
      addressUrl: string | null
      /** While a proposed address waits: what its owner or the payer can sign instead. */
      addressMessage: string | null
      /** Chain id. */
      network: number | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
      approvalReason: "company" | "limit" | null
      /** Who asked for it. */
      requestedBy: string
      /** Who decided. */
      decidedBy: string | null
      /** Hash of the transaction. */
      txHash: string | null
      /** The last status from the provider or the chain. */
      message: string | null
      /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
      toSendByHand: boolean
      /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
      heldBy: "company" | "operator"
      /** A person sent the money; only such a refund takes a proof file. */
      settledByHand: boolean
      /** The proof file: GET /refunds/{id}/proof. */
      proof: {
        /** Media type of the file. */
        mime: "image/webp" | "application/pdf"
        /** Bytes of the file. */
        size: number
        /** SHA-256 of the file as it is kept. */
        sha256: string
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** When the file went with the payer’s data; null: it is there. */
        erasedAt: string | null
      } | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When the money had arrived; null before. */
      settledAt: string | null
    }
  }
  /** Where money that never paid its order would go back to. The payer’s own address, one that someone else proposed, or neither, and then the payer is asked. */
  getMispaymentRefund: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Whose order it is, as payers know it. */
      company: string
      /** Through which the money goes back. Null while the order cannot be refunded. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay" | null
      /** Chain id of the addresses. Null: the provider knows where to. */
      network: number | null
      /** Where a refund goes that names no address: the payer stated it. Null with a `network`: the payer is asked. */
      address: string | null
      /** Set instead of `address` where someone else named it: the payer is asked to confirm it, and may name another. */
      proposedAddress: string | null
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** All that the payer stated: a refund that names one of them needs no proof. */
      statedAddresses: Array<string>
    }
  }
  /** Refund money that never paid its order. Answers with the refund; the order’s state does not change. */
  refundMispayment: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body?: {
        /** Why, in words; kept in the history. */
        reason?: string
        /** Of the record that you read. If it is about more or less by now, 409 `OBJECT_CONFLICT`. */
        units?: string
        /** On-chain refunds: where the money goes. One that the payer did not state before (at accept or in the payer information) needs a proof; without it the payer is asked to confirm it, and nothing is sent before. What goes back through its provider takes no address: 422. */
        address?: string
        /** Why the address is what the payer wants: a signature over the text of GET /refunds/address-message, or the statement of a second person, with a fresh second factor and its evidence. */
        addressProof?: {
          /** EIP-191, by the destination or by the address that paid. */
          signature: string
          /** What was signed; may be left out. */
          message?: string
        } | {
          /** How the payer asked for it, stated by a person. */
          statement: string
          /** Where to look it up, such as a ticket number. */
          evidence: string
        }
      }
    }
    data: {
      /** Id of the refund; follow it with GET /refunds/{id}. */
      refundId: string
    }
  }
  /** Settle a refund that was sent outside Comptoir, with proof. For channels whose provider cannot refund: what was sent, and where to find it. Only a SuperAdmin settles what the operator holds (`heldBy`). */
  settleRefund: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Id of the withdrawal or transfer. */
        reference: string
        /** How it was sent. */
        statement: string
        /** PNG, JPEG, WebP or PDF in base64, at most 1 MB. */
        proof?: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** `_id` of the order. */
      orderId: string
      /** Of its order. */
      code: string
      /** Short form of the code, for reading aloud. */
      shortCode: string
      /** Whose order it is, as payers know it. */
      company: string
      /** Set: money that never paid the order goes back. */
      mispaymentId: string | null
      /** Where the object stands. */
      status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
      /** USDC, 6 digits. */
      amount: string
      /** The part above the order’s price. */
      excessAmount: string
      /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
      withoutCover: boolean
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Wallet address. */
      address: string | null
      /** Named without a proof: nothing goes there before the payer confirms it. */
      proposedAddress: string | null
      /** Who named it; a second person may vouch for it. */
      proposedBy: string | null
      /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
      proposer: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** The person of the shop who vouches for it; one more has to, if the payer named it. */
      confirmedBy: string | null
      /** What the payer had named before the proposed address took its place. */
      replacedAddress: string | null
      /** Why this destination is trusted. */
      addressProof: {
        /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
        kind: "stated" | "payer" | "signature" | "attested"
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Where it was given. */
        source?: "accept" | "payerInformation"
        /** Address that signed. */
        signer?: string
        /** `destination`: the address signed for itself. `sender`: the address that paid. */
        signerIs?: "destination" | "sender"
        /** A person says how the payer asked for it. */
        statement?: string
        /** Where that can be looked up. */
        evidence?: string
      } | null
      /** The payer got a mail with the link of the page for it. */
      askedByMail: boolean
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
      addressUrl: string | null
      /** While a proposed address waits: what its owner or the payer can sign instead. */
      addressMessage: string | null
      /** Chain id. */
      network: number | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
      approvalReason: "company" | "limit" | null
      /** Who asked for it. */
      requestedBy: string
      /** Who decided. */
      decidedBy: string | null
      /** Hash of the transaction. */
      txHash: string | null
      /** The last status from the provider or the chain. */
      message: string | null
      /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
      toSendByHand: boolean
      /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
      heldBy: "company" | "operator"
      /** A person sent the money; only such a refund takes a proof file. */
      settledByHand: boolean
      /** The proof file: GET /refunds/{id}/proof. */
      proof: {
        /** Media type of the file. */
        mime: "image/webp" | "application/pdf"
        /** Bytes of the file. */
        size: number
        /** SHA-256 of the file as it is kept. */
        sha256: string
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** When the file went with the payer’s data; null: it is there. */
        erasedAt: string | null
      } | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When the money had arrived; null before. */
      settledAt: string | null
    }
  }
  /** Add the proof file of a refund settled by hand. PNG, JPEG, WebP or PDF, at most 1 MB, in base64; or send the file itself as the body, with its type in Content-Type. Pictures are redrawn without their metadata. A refund takes one file, which cannot be replaced. */
  addRefundProof: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** PNG, JPEG, WebP or PDF in base64, at most 1 MB. */
        file: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** `_id` of the order. */
      orderId: string
      /** Of its order. */
      code: string
      /** Short form of the code, for reading aloud. */
      shortCode: string
      /** Whose order it is, as payers know it. */
      company: string
      /** Set: money that never paid the order goes back. */
      mispaymentId: string | null
      /** Where the object stands. */
      status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
      /** USDC, 6 digits. */
      amount: string
      /** The part above the order’s price. */
      excessAmount: string
      /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
      withoutCover: boolean
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Wallet address. */
      address: string | null
      /** Named without a proof: nothing goes there before the payer confirms it. */
      proposedAddress: string | null
      /** Who named it; a second person may vouch for it. */
      proposedBy: string | null
      /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
      proposer: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** The person of the shop who vouches for it; one more has to, if the payer named it. */
      confirmedBy: string | null
      /** What the payer had named before the proposed address took its place. */
      replacedAddress: string | null
      /** Why this destination is trusted. */
      addressProof: {
        /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
        kind: "stated" | "payer" | "signature" | "attested"
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Where it was given. */
        source?: "accept" | "payerInformation"
        /** Address that signed. */
        signer?: string
        /** `destination`: the address signed for itself. `sender`: the address that paid. */
        signerIs?: "destination" | "sender"
        /** A person says how the payer asked for it. */
        statement?: string
        /** Where that can be looked up. */
        evidence?: string
      } | null
      /** The payer got a mail with the link of the page for it. */
      askedByMail: boolean
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
      addressUrl: string | null
      /** While a proposed address waits: what its owner or the payer can sign instead. */
      addressMessage: string | null
      /** Chain id. */
      network: number | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
      approvalReason: "company" | "limit" | null
      /** Who asked for it. */
      requestedBy: string
      /** Who decided. */
      decidedBy: string | null
      /** Hash of the transaction. */
      txHash: string | null
      /** The last status from the provider or the chain. */
      message: string | null
      /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
      toSendByHand: boolean
      /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
      heldBy: "company" | "operator"
      /** A person sent the money; only such a refund takes a proof file. */
      settledByHand: boolean
      /** The proof file: GET /refunds/{id}/proof. */
      proof: {
        /** Media type of the file. */
        mime: "image/webp" | "application/pdf"
        /** Bytes of the file. */
        size: number
        /** SHA-256 of the file as it is kept. */
        sha256: string
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** When the file went with the payer’s data; null: it is there. */
        erasedAt: string | null
      } | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When the money had arrived; null before. */
      settledAt: string | null
    }
  }
  /** Download the proof file of a refund. Always as an attachment. The reading is in the audit log. For those who may read payer information. */
  downloadRefundProof: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: Response
  }
  /** Report the transaction of a refund sent by hand. The transaction is checked on its chain. The refund is settled once it is final. Only a SuperAdmin names one for what the operator holds (`heldBy`). */
  reportRefundTransaction: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Hash of the transaction. */
        txHash: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** `_id` of the order. */
      orderId: string
      /** Of its order. */
      code: string
      /** Short form of the code, for reading aloud. */
      shortCode: string
      /** Whose order it is, as payers know it. */
      company: string
      /** Set: money that never paid the order goes back. */
      mispaymentId: string | null
      /** Where the object stands. */
      status: "needs_approval" | "needs_address" | "ready" | "submitted" | "settled" | "rejected" | "refused"
      /** USDC, 6 digits. */
      amount: string
      /** The part above the order’s price. */
      excessAmount: string
      /** Refunded without cover, by a SuperAdmin or from the provider’s console: the company owes it to the operator. */
      withoutCover: boolean
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Wallet address. */
      address: string | null
      /** Named without a proof: nothing goes there before the payer confirms it. */
      proposedAddress: string | null
      /** Who named it; a second person may vouch for it. */
      proposedBy: string | null
      /** `proposedBy` by name, for those who may confirm the address. Through a key, ask the payer: whoever knows the key can have named it. Null where the payer named it. */
      proposer: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** The person of the shop who vouches for it; one more has to, if the payer named it. */
      confirmedBy: string | null
      /** What the payer had named before the proposed address took its place. */
      replacedAddress: string | null
      /** Why this destination is trusted. */
      addressProof: {
        /** `stated`: the payer’s own, given before PAID. `payer`: confirmed on the refund page, by the link in the mail. `signature`: signed for. `attested`: a second person vouches for it. */
        kind: "stated" | "payer" | "signature" | "attested"
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Where it was given. */
        source?: "accept" | "payerInformation"
        /** Address that signed. */
        signer?: string
        /** `destination`: the address signed for itself. `sender`: the address that paid. */
        signerIs?: "destination" | "sender"
        /** A person says how the payer asked for it. */
        statement?: string
        /** Where that can be looked up. */
        evidence?: string
      } | null
      /** The payer got a mail with the link of the page for it. */
      askedByMail: boolean
      /** Set where a person of the shop typed the only e-mail at which the payer is asked: it proves that person’s word, not the payer’s. Null where the payer or the shop’s server gave it, where nobody is asked by mail, and for an e-mail of an earlier version. */
      emailWriter: {
        /** `user:<id>`, `service:<id>` or `apiKey:<id>`. */
        by: string
        /** Of the person, or of the key. */
        name: string | null
        /** Of a key: the name of the person who created it, if recorded. */
        keyOf: string | null
      } | null
      /** While the payer is asked: the link to hand over, shown to roles that start refunds and to keys with `refunds:write`. Null for everyone else, and when the payer got it by mail: whoever reads it could otherwise answer for the payer. */
      addressUrl: string | null
      /** While a proposed address waits: what its owner or the payer can sign instead. */
      addressMessage: string | null
      /** Chain id. */
      network: number | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** Why a SuperAdmin has to approve it: the company’s setting, or the role’s limit. */
      approvalReason: "company" | "limit" | null
      /** Who asked for it. */
      requestedBy: string
      /** Who decided. */
      decidedBy: string | null
      /** Hash of the transaction. */
      txHash: string | null
      /** The last status from the provider or the chain. */
      message: string | null
      /** A person has to send it now, because its channel cannot. Then name the transaction (POST /refunds/{id}/transaction), or settle it (POST /refunds/{id}/settle) where no chain shows one. */
      toSendByHand: boolean
      /** Who holds its money. Where a person has to send it, that is the one who does: the company from its own account or wallet, or the operator. Of the operator’s money only a SuperAdmin names a transaction, or settles it. */
      heldBy: "company" | "operator"
      /** A person sent the money; only such a refund takes a proof file. */
      settledByHand: boolean
      /** The proof file: GET /refunds/{id}/proof. */
      proof: {
        /** Media type of the file. */
        mime: "image/webp" | "application/pdf"
        /** Bytes of the file. */
        size: number
        /** SHA-256 of the file as it is kept. */
        sha256: string
        /** Who said it. */
        by: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** When the file went with the payer’s data; null: it is there. */
        erasedAt: string | null
      } | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When the money had arrived; null before. */
      settledAt: string | null
    }
  }
  /** Record a refund from a provider’s console. For a difference that names an order in `partRefundedOf`, also one that was explained: the provider said that a part was refunded, and not how much. Books it as settled and ends the difference. No money moves: what the company is owed and what is left to refund become less. It cannot be taken back. */
  recordRefund: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** USDC, decimal text: what the console sent besides every refund of the order that is listed here. */
        amount: string
        /** Where you looked it up. The company sees it with the refund. */
        reason: string
        /** The provider’s id of that refund. */
        reference?: string
      }
    }
    data: {
      /** See GET /refunds/{id}. */
      refundId: string
    }
  }
  /** List money that does not fit its order. Payments that are too little, too much, too late, double or in another token; each waits for a decision or has one. */
  listMispayments: {
    params: {
      /** For users of several companies: only this one. */
      companyId?: string
      /** Where the object stands. */
      status?: "open" | "accepted" | "refunded" | "ignored" | "borne" | "resolved"
      /** Which kind it is. */
      kind?: "under" | "over" | "late" | "duplicate" | "held" | "wrong_token" | "orphaned"
      /** Order code: unguessable, used in paths. */
      code?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** Money that does not fit its order. */
      mispayments: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** The order that the money came for. */
        code: string
        /** Short form of the code, for reading aloud. */
        shortCode: string
        /** State of the order. */
        orderStatus: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED"
        /** The price of the order. */
        fromAmount: string
        /** Its currency. */
        fromAsset: string
        /** The price in USDC. */
        toAmount: string
        /** Which kind it is. */
        kind: "under" | "over" | "late" | "duplicate" | "held" | "wrong_token" | "orphaned"
        /** Where the object stands. */
        status: "open" | "accepted" | "refunded" | "ignored" | "borne" | "resolved"
        /** `refunded`: how its refund stands; the money is back once that is `settled`. */
        refundStatus: string | null
        /** The asset, as its symbol. */
        asset: string
        /** Smallest units of the asset. */
        units: string
        /** Decimal text; null for tokens whose decimals are not known. */
        amount: string | null
        /** The payment at its source: transaction and log index, or the provider’s id. */
        reference: string
        /** Who decided. */
        decidedBy: string | null
        /** Why, in words; kept in the history. */
        reason: string | null
        /** `orphaned`: who bears money that left the chain. */
        borneBy: "operator" | "company" | null
        /** When its payer asked for it on the order’s page. */
        askedBackAt: string | null
        /** When it was created. UTC, with milliseconds. */
        createdAt: string
        /** When it last changed. UTC, with milliseconds. */
        updatedAt: string
      }>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Accept underpaid or late money as the payment. The order becomes PAID. Less than its price becomes the price. After the order ended its payer must pass the same identity checks and limits as at accept. 409 while another order of its alias or of its buy button’s reference is paid, confirmed or under review; of its alias, unless `reason` has that order’s code. */
  acceptMispayment: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body?: {
        /** Why, in words; kept in the history. */
        reason?: string
        /** Of the record that you read. If it is about more or less by now, 409 `OBJECT_CONFLICT`. */
        units?: string
      }
    }
    data: null
  }
  /** Leave it as it stands, with a reason. Closes the record; the money stays where it is. The reason is kept. */
  ignoreMispayment: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Why, in words; kept in the history. */
        reason: string
        /** Of the record that you read. If it is about more or less by now, 409 `OBJECT_CONFLICT`. */
        units?: string
      }
    }
    data: null
  }
  /** Say who pays for money that left the chain. Until this is decided, the order cannot be refunded, and the amount is kept back from settlements. When the money comes back, the decision is undone. */
  bearLoss: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Who bears the loss. Only a SuperAdmin can choose `operator`. */
        by: "operator" | "company"
        /** Why, in words; kept in the history. */
        reason?: string
      }
    }
    data: null
  }
  /** List transfers that match no order. Transfers to an address of your own wallet that no order asked for, newest first, with the orders that may have been meant. A SuperAdmin also sees those to the operator’s addresses. */
  listUnmatchedTransfers: {
    params: {
      /** For users of several companies: only this one. */
      companyId?: string
      /** Where the object stands. */
      status?: "open" | "matched" | "ignored" | "gone"
      /** Also USDC below the dust limit, which anyone can send. */
      dust?: boolean
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** Transfers, newest first. */
      transfers: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** `open`: a person decides; `matched`: it counts for an order; `ignored`: set aside; `gone`: it left the chain before a decision, and is open again if it comes back. */
        status: "open" | "matched" | "ignored" | "gone"
        /** Whose address it is; null: the operator’s. */
        companyId: string | null
        /** Chain id. */
        network: number
        /** Where it arrived. */
        address: string
        /** Who sent it; an exchange sends from an address of its own. */
        from: string
        /** Hash of the transaction. */
        txHash: string
        /** The transaction on a block explorer. */
        explorerUrl: string | null
        /** The asset, as its symbol. */
        asset: string
        /** Smallest units of the asset. */
        units: string
        /** Decimal text; null for tokens that are not USDC. */
        amount: string | null
        /** When its block was made. */
        arrivedAt: string
        /** Deep enough in the chain to stay. */
        isFinal: boolean
        /** False: its block left the chain. */
        onChain: boolean
        /** False: orders at this address take no money on this network (`NETWORKS` of the wallet). The address may not be the company’s there, so look into the wallet before you match the transfer. */
        isNetworkAccepted: boolean
        /** What happens next, in English. */
        next: string
        /** Up to three orders: one that names its sender, which proves nothing, then the closest amounts. */
        candidates: Array<{
          /** Order code: unguessable, used in paths. */
          code: string
          /** Short form of the code, for reading aloud. */
          shortCode: string
          /** State of the order. */
          orderStatus: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED"
          /** What this order asks for, in USDC. */
          tokenAmount: string
          /** It names the sender (`userAddress` at accept). Anyone can type that, so it proves nothing. */
          namesSender: boolean
        }>
        /** The order that it was matched to. */
        code: string | null
        /** Short form of the code, for reading aloud. */
        shortCode: string | null
        /** State of the order. */
        orderStatus: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED" | null
        /** Who decided. */
        decidedBy: string | null
        /** Why, in words; kept in the history. */
        reason: string | null
      }>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Say which order a transfer came for. The transfer counts for the order from now on, as if it had matched: it is screened, booked, and too much, too little or too late like any other. It cannot be taken back; refund the order instead. */
  matchTransfer: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** The order that the money came for. */
        code: string
        /** Why, in words; kept in the history. */
        reason?: string
      }
    }
    data: null
  }
  /** Set a transfer aside that belongs to no order. The transfer counts for nothing and leaves the list of open ones. The reason is kept; it can still be matched. */
  ignoreTransfer: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Why it belongs to no order. */
        reason: string
      }
    }
    data: null
  }
  /** How a company offers its channels. Every channel that is set up, in the order in which payers are offered them. */
  listChannelRules: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
    }
    data: Array<ChannelRule>
  }
  /** Sort the channels that payers are offered. The payment page keeps its groups; a group stands where its first channel stands. */
  sortChannels: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      body: {
        /** Channels, the first one first. Those that you leave out follow in their usual order. */
        order: Array<string>
      }
    }
    data: Array<ChannelRule>
  }
  /** Change how a channel is offered. Changes only the fields you send; null removes a limit or a text. It counts for payments from now on, also those that your server accepts; a payment that has begun goes on. */
  changeChannelRule: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Payment channel. */
      channel: string
      body?: {
        /** Whether payers may choose it. */
        offered?: boolean
        /** The least that the payer may type. */
        minAmount?: string | null
        /** The most that the payer may type. */
        maxAmount?: string | null
        /** By language. Languages that you leave out keep their texts; null removes a language’s. No links, no addresses. */
        texts?: {
          /** What payers read in English. */
          en?: {
            /** The name that payers read, at most 40 characters; null: the channel’s own. */
            label?: string | null
            /** The line below the name, at most 160 characters; null: none. */
            hint?: string | null
          } | null
          /** What payers read in French. */
          fr?: {
            /** The name that payers read, at most 40 characters; null: the channel’s own. */
            label?: string | null
            /** The line below the name, at most 160 characters; null: none. */
            hint?: string | null
          } | null
          /** What payers read in German. */
          de?: {
            /** The name that payers read, at most 40 characters; null: the channel’s own. */
            label?: string | null
            /** The line below the name, at most 160 characters; null: none. */
            hint?: string | null
          } | null
          /** What payers read in Spanish. */
          es?: {
            /** The name that payers read, at most 40 characters; null: the channel’s own. */
            label?: string | null
            /** The line below the name, at most 160 characters; null: none. */
            hint?: string | null
          } | null
          /** What payers read in Italian. */
          it?: {
            /** The name that payers read, at most 40 characters; null: the channel’s own. */
            label?: string | null
            /** The line below the name, at most 160 characters; null: none. */
            hint?: string | null
          } | null
        }
      }
    }
    data: ChannelRule
  }
  /** Payment channels, and why one is hidden from the payer. In the order in which payers see them. For an order (`code`), or for an amount at today’s rate; by default for 50 EUR. */
  listChannels: {
    params: {
      /** Order code: unguessable, used in paths. */
      code?: string
      /** Decimal text in `fromAsset`. */
      amount?: string
      /** Fiat currency. */
      fromAsset?: string
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
    }
    data: Array<{
      /** Payment channel. */
      paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Chain ids that are offered. */
      networks: Array<number>
      /** Whether payers see it now. */
      available: boolean
      /** Why it is hidden from the payer now, in English. */
      reason: string | null
      /** The same for a program. off, noRate, shopLeast, shopMost: your own rules. least, most, currency: what the provider takes. network: our side of the chain. trouble, busy, credentials, clock: the provider is not called for a while. */
      reasonCode: "off" | "noRate" | "shopLeast" | "shopMost" | "least" | "most" | "currency" | "network" | "trouble" | "busy" | "credentials" | "clock" | null
      /** The limit that the amount violates, for shopLeast, shopMost, least and most. */
      limit: {
        /** Decimal text in the asset of the object. */
        amount: string
        /** The asset, as its symbol. */
        asset: string
      } | null
      /** What payers read, by language (`en`, `fr`, `de`, `es`, `it`). In other languages they read the channel’s own name. */
      texts: {
        /** What payers read in English. */
        en?: {
          /** The name that payers read; null: the channel’s own. */
          label: string | null
          /** The line below the name; null: none. */
          hint: string | null
        }
        /** What payers read in French. */
        fr?: {
          /** The name that payers read; null: the channel’s own. */
          label: string | null
          /** The line below the name; null: none. */
          hint: string | null
        }
        /** What payers read in German. */
        de?: {
          /** The name that payers read; null: the channel’s own. */
          label: string | null
          /** The line below the name; null: none. */
          hint: string | null
        }
        /** What payers read in Spanish. */
        es?: {
          /** The name that payers read; null: the channel’s own. */
          label: string | null
          /** The line below the name; null: none. */
          hint: string | null
        }
        /** What payers read in Italian. */
        it?: {
          /** The name that payers read; null: the channel’s own. */
          label: string | null
          /** The line below the name; null: none. */
          hint: string | null
        }
      }
      /** For a SuperAdmin or SuperManager. Null for everyone else. */
      circuit: {
        /** open: the provider is not called until `openUntil`; half-open: the next call is a trial. */
        state: "closed" | "open" | "half-open"
        /** Why it opened: no answers, a requested pause, a refused key, a refused time. */
        cause: "trouble" | "busy" | "credentials" | "clock" | null
        /** When the next call is let through. */
        openUntil: string | null
        /** How far this server’s clock is ahead of the provider’s; negative: behind. */
        clockAheadSeconds: number | null
      } | null
    }>
  }
  /** Every channel that this version knows, with its name. Also those that are not set up here; an order may have been paid through one. */
  listChannelNames: {
    params: Record<never, never>
    data: Array<{
      /** Payment channel. */
      paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** As payers read it, where no language has its own word. */
      name: string
    }>
  }
  /** A company’s own accounts at providers. What can be set, and hints of what is set. Secrets are never shown again. */
  listChannelAccounts: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
    }
    data: Array<{
      /** Payment channel. */
      channel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Whether the company’s own account is used. */
      own: boolean
      /** The last characters of each secret setting, by name. */
      hints: Record<string, string>
      /** What to enter in the provider’s console. */
      callbackUrl: string
      /** Settings of the channel. */
      settings: Array<{
        /** Name for people. */
        name: string
        /** What the setting is. */
        means: string
        /** Whether the channel needs it. */
        required: boolean
        /** Whether it is kept encrypted and never shown again. */
        secret: boolean
      }>
      /** When it was set. */
      updatedAt: string | null
    }>
  }
  /** Use the company’s own account at a provider. All settings at once; they win over the operator’s for new payments. Stored encrypted. If they name another account than before, it is as if that one were removed: while it is needed, `force` has to say so. New secrets of the same account change nothing for payments that have begun. Where only secrets name the account, the provider is asked whether it is the same; while it does not answer, `force` saves it as another one. Where a wallet (`crypto`) no longer has the address that the payer of an open order was shown, the page offers it no more, and he chooses again. */
  saveChannelAccount: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Also while open payments or unfinished refunds need the account that goes. */
      force?: boolean
      /** Payment channel. */
      channel: string
      body: {
        /** Setting name to value; the names are listed by GET /channel-accounts. */
        settings: Record<string, string>
      }
    }
    data: {
      /** `crypto`: open orders whose payers were shown an address that is not in the wallet any more. They choose again. */
      movedOrders: number
    }
  }
  /** Back to the operator’s account. Deletes the company’s credentials; new payments go through the operator’s account. While open payments or unfinished refunds need the account, `force` has to say so: then payers whose payment is open choose again, and money that they had paid already is found when the account is put back within 30 days. */
  removeChannelAccount: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Also while open payments or unfinished refunds need the account that goes. */
      force?: boolean
      /** Payment channel. */
      channel: string
    }
    data: {
      /** `crypto`: open orders whose payers were shown an address that is not in the wallet any more. They choose again. */
      movedOrders: number
    }
  }
  /** Ask the provider whether it takes the company’s own account. A signed question about a payment that does not exist; nothing changes there. */
  checkChannelAccount: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Payment channel. */
      channel: string
    }
    data: {
      /** clock: the provider refuses our time. silent: it did not answer, so nothing is known. */
      outcome: "accepted" | "refused" | "clock" | "silent"
      /** The provider’s own word; null where it accepts. */
      reason: string | null
    }
  }
  /** Calls to the providers of an order. For support: requests and answers without headers and secrets, the newest 500, oldest first. */
  listChannelExchanges: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: Array<{
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Payment channel. */
      paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
      /** Our reference at the provider; the same for each repetition. */
      merchantReference: string
      /** What was asked of the provider. */
      step: string
      /** HTTP method. */
      method: string
      /** Address that was called. */
      url: string
      /** What was sent. */
      request: string
      /** HTTP status of the answer; null when there was none. */
      status: number | null
      /** What was answered. */
      answer: string
      /** Milliseconds until the answer. */
      durationMs: number
      /** When it happened. UTC, with milliseconds. */
      at: string
    }>
  }
  /** A provider reports news. Called by payment providers. The raw bytes are verified as the provider signs them; the answer is what the provider expects. A callback alone never changes an order: the provider is asked first. */
  receiveCallback: {
    params: {
      /** Payment channel. */
      channel: string
    }
    data: Response
  }
  /** A provider reports news of a company’s own account. Called by payment providers. The raw bytes are verified as the provider signs them; the answer is what the provider expects. A callback alone never changes an order: the provider is asked first. */
  receiveCompanyCallback: {
    params: {
      /** Payment channel. */
      channel: string
      /** The company it belongs to. */
      companyId: string
    }
    data: Response
  }
  /** List identity checks. Identity checks, newest first; `status` filters by state, and by what waits. */
  listKyc: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
      /** `waiting`: the check or its enhanced one is `pending`, as `needs.identity` of GET /summary counts them. */
      status?: "pending" | "approved" | "refused" | "waiting"
    }
    data: {
      /** The identity checks of this page. */
      checks: Array<Kyc>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Check the payer of an order. Repeating it returns the same check. The payer gets the link by mail. */
  startKyc: {
    params: {
      body: {
        /** The order whose payer is checked. */
        code: string
      }
    }
    data: {
      /** Id of the identity check. */
      kycId: string
      /** The page for the payer, who also gets it by mail. */
      url: string
      /** Where the object stands. */
      status: "pending" | "approved" | "refused"
    }
  }
  /** One identity check with its history. One identity check, who it is about, the orders that asked for it, and its history. A look at the payer’s e-mail is in the audit log. */
  getKyc: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      company: string
      /** Who checks: a person (`manual`) or a provider. */
      provider: "manual" | "sumsub"
      /** Where the object stands. */
      status: "pending" | "approved" | "refused"
      /** Enhanced due diligence. */
      eddStatus: "none" | "requested" | "pending" | "completed"
      /** What the enhanced check found; null before. */
      eddOutcome: "approved" | "refused" | null
      /** EUR in 30 days, once enhanced due diligence is completed. That of a refused one stays while the next one is open. */
      spendingLimit: string | null
      /** The provider’s last message. */
      message: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** Only for users who may read payer information. */
      payer: {
        /** E-mail address. */
        email: string | null
      } | null
      /** Orders that required the check, newest first, at most 100. */
      orders: Array<{
        /** Order code: unguessable, used in paths. */
        code: string
        /** Short form of the code, for reading aloud. */
        shortCode: string
        /** Your reference of the order. */
        alias: string | null
      }>
      /** What you may do with it as it stands. `grantLimit`: give a `spendingLimit` with the request for an enhanced check. */
      mayDo: Array<"approve" | "refuse" | "requestEdd" | "grantLimit" | "completeEdd">
      /** Everything that happened, oldest first. */
      history: Array<{
        /** Its place in the history. */
        seq: number
        /** A verb: a person did it. A state: the provider said so, about the check or its `edd.`. */
        trigger: "ask" | "approve" | "refuse" | "requestEdd" | "completeEdd" | "pending" | "approved" | "refused" | "edd.none" | "edd.requested" | "edd.pending" | "edd.completed"
        /** Where the object stands. */
        status: "pending" | "approved" | "refused"
        /** Enhanced due diligence. */
        eddStatus: "none" | "requested" | "pending" | "completed"
        /** What the enhanced check found; null before. */
        eddOutcome: "approved" | "refused" | null
        /** EUR in 30 days, once enhanced due diligence is completed. That of a refused one stays while the next one is open. */
        spendingLimit: string | null
        /** Who did it. */
        actor: string
        /** Why, in words; kept in the history. */
        reason: string | null
        /** When it happened. UTC, with milliseconds. */
        at: string
      }>
    }
  }
  /** Approve a check that has no provider. A person approves a check of the provider `manual`. */
  approveKyc: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body?: {
        /** Why, for the history. */
        reason?: string
        /** Of the check that you read. If it has changed since, 409 `OBJECT_CONFLICT`. */
        updatedAt?: string
      }
    }
    data: Kyc
  }
  /** Refuse a check that has no provider. A person refuses a check of the provider `manual`. */
  refuseKyc: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Why, for the history. */
        reason: string
        /** Of the check that you read. If it has changed since, 409 `OBJECT_CONFLICT`. */
        updatedAt?: string
      }
    }
    data: Kyc
  }
  /** Request enhanced due diligence for an approved payer. For a higher spending limit. The payer gets the link by mail. */
  requestEdd: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body?: {
        /** Why, for the history. */
        reason?: string
        /** Of the check that you read. If it has changed since, 409 `OBJECT_CONFLICT`. */
        updatedAt?: string
        /** SuperAdmin only: EUR in 30 days, granted when the provider approves. Absent: a SuperAdmin completes it. */
        spendingLimit?: string
      }
    }
    data: Kyc
  }
  /** Complete enhanced due diligence and set the spending limit. Ends the enhanced check with an outcome and a spending limit. Sends `kyc.edd_completed`. */
  completeEdd: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** What the enhanced check found. */
        outcome: "approved" | "refused"
        /** EUR that the payer may spend in 30 days; required when approved; when refused, 0.00 by default. */
        spendingLimit?: string
        /** Why, for the history. */
        reason?: string
        /** Of the check that you read. If it has changed since, 409 `OBJECT_CONFLICT`. */
        updatedAt?: string
      }
    }
    data: Kyc
  }
  /** Callbacks of Sumsub. Enter this address as a webhook at Sumsub, with the algorithm HMAC_SHA256_HEX. */
  takeSumsubCallback: {
    params: Record<never, never>
    data: null
  }
  /** List screenings of addresses. Addresses that were screened before money moved, newest first: senders, destinations of refunds, settlement addresses. */
  listScreenings: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
      /** `open`: a person can still decide: held, or a blocked payment. */
      status?: "checking" | "held" | "clean" | "blocked" | "released" | "returned" | "open"
      /** Why the address was screened. */
      purpose?: "payment" | "refund" | "settlement" | "sweep"
      /** Of one order. */
      code?: string
    }
    data: {
      /** The screenings of this page. */
      screenings: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** The company it belongs to. */
        companyId: string
        /** The order; null for a settlement or sweep. */
        code: string | null
        /** Short form of the code, for reading aloud. */
        shortCode: string | null
        /** State of the order. */
        orderStatus: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED" | null
        /** Why the address was screened. */
        purpose: "payment" | "refund" | "settlement" | "sweep"
        /** The payment, refund or settlement. */
        subjectId: string
        /** Chain id. */
        network: number | null
        /** Null: a payment provider screened by itself. */
        address: string | null
        /** Where the object stands. */
        status: "checking" | "held" | "clean" | "blocked" | "released" | "returned"
        /** A payment provider blocks all of the payment; false: only amounts that it named. Null: an address, or not known. */
        isWhole: boolean | null
        /** What each source said last. */
        answers: Array<{
          /** Who was asked. */
          source: "deny_list" | "oracle" | "chainalysis" | "chainalysis_risk" | "trm" | "provider"
          /** `unavailable`: no usable answer, which clears nothing. */
          verdict: "clean" | "hold" | "blocked" | "unavailable"
          /** The source’s own word for the risk. */
          level: string | null
          /** What the source says in words, for the person who decides. */
          reasons: Array<string>
          /** When it happened. UTC, with milliseconds. */
          at: string
        }>
        /** Who decided. */
        decidedBy: string | null
        /** Why, in words; kept in the history. */
        reason: string | null
        /** When the question came up. UTC. */
        openedAt: string
        /** When it last changed. UTC, with milliseconds. */
        updatedAt: string
      }>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** One screening with its evidence. One screening with every answer of every source, as it came. */
  getScreening: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      companyId: string
      /** The order; null for a settlement or sweep. */
      code: string | null
      /** Short form of the code, for reading aloud. */
      shortCode: string | null
      /** State of the order. */
      orderStatus: "INITIAL" | "PENDING" | "AWAITING" | "PAID" | "CANCELLED" | "ERROR" | "REFUNDING" | "REFUNDED" | "FULL_REFUNDED" | "EXPIRED" | "WAITING_CHAIN_CONFIRMATION" | "KYT_FAILED" | null
      /** Why the address was screened. */
      purpose: "payment" | "refund" | "settlement" | "sweep"
      /** The payment, refund or settlement. */
      subjectId: string
      /** Chain id. */
      network: number | null
      /** Null: a payment provider screened by itself. */
      address: string | null
      /** Where the object stands. */
      status: "checking" | "held" | "clean" | "blocked" | "released" | "returned"
      /** A payment provider blocks all of the payment; false: only amounts that it named. Null: an address, or not known. */
      isWhole: boolean | null
      /** What each source said last. */
      answers: Array<{
        /** Who was asked. */
        source: "deny_list" | "oracle" | "chainalysis" | "chainalysis_risk" | "trm" | "provider"
        /** `unavailable`: no usable answer, which clears nothing. */
        verdict: "clean" | "hold" | "blocked" | "unavailable"
        /** The source’s own word for the risk. */
        level: string | null
        /** What the source says in words, for the person who decides. */
        reasons: Array<string>
        /** When it happened. UTC, with milliseconds. */
        at: string
      }>
      /** Who decided. */
      decidedBy: string | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** When the question came up. UTC. */
      openedAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** The newest 500 answers, oldest first. One that only repeats what its source said last is not listed. Nothing is ever changed or removed. */
      evidence: Array<{
        /** Who was asked. */
        source: "deny_list" | "oracle" | "chainalysis" | "chainalysis_risk" | "trm" | "provider"
        /** `unavailable`: no usable answer, which clears nothing. */
        verdict: "clean" | "hold" | "blocked" | "unavailable"
        /** The source’s own word for the risk. */
        level: string | null
        /** What the source says in words, for the person who decides. */
        reasons: Array<string>
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** The answer as it came. */
        evidence: unknown
      }>
      /** How many older answers are kept and not listed. */
      evidenceLeftOut: number
      /** What you may decide now. Of settlements and sweeps only a SuperAdmin decides. */
      decisions: Array<"release" | "return">
    }
  }
  /** Let a held address pass, with a reason. For an address that is held because a source does not answer, or wants a person to look. What a source blocks cannot be released. Only a SuperAdmin releases a settlement or a sweep. */
  releaseScreening: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Why, for the record. */
        reason: string
        /** Of the screening that you read. If it has changed since, 409 `OBJECT_CONFLICT`. */
        updatedAt?: string
      }
    }
    data: null
  }
  /** Return a payment that is held or blocked, with a reason. The order becomes KYT_FAILED if it is not yet. No money moves by this: it waits as a mispayment of the kind `held`, which may be refunded from now on. The refund’s destination is screened too. */
  returnScreening: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Why, for the record. */
        reason: string
        /** Of the screening that you read. If it has changed since, 409 `OBJECT_CONFLICT`. */
        updatedAt?: string
      }
    }
    data: null
  }
  /** Catch-up feed of all events of orders. Every `order.*` event of the company, subscribed or not, exactly once and in a fixed order, with the order as it was then; kept 90 days. Store `nextCursor` with your own changes and send it as `after` next time. Identity checks are read with `GET /kyc`. After the operator restores a backup some events may repeat: drop duplicates by order, event and `updatedAt`. */
  listEvents: {
    params: {
      /** `nextCursor`, or the `cursor` of an event; `latest` to begin behind the newest event. */
      after?: string
      /** How many at most. */
      limit?: number
      /** For accounts that see more than one company. */
      companyId?: string
    }
    data: {
      /** Events. */
      events: Array<{
        /** The position after this event. */
        cursor: string
        /** What happened. */
        event: string
        /** When it happened. */
        createdAt: string
        /** The order. */
        order: Order
      }>
      /** Where the next page begins; null at the end. */
      nextCursor: string
    }
  }
  /** The latest events, newest first. For people who look at what just happened. Programs that must miss nothing read `GET /events`. */
  listLatestEvents: {
    params: {
      /** `nextBefore` of the answer before, or the `cursor` of an event. */
      before?: string
      /** Only events of this kind. */
      event?: string
      /** How many at most. */
      limit?: number
      /** For accounts that see more than one company. */
      companyId?: string
    }
    data: {
      /** Events. */
      events: Array<{
        /** The position after this event. */
        cursor: string
        /** What happened. */
        event: string
        /** When it happened. */
        createdAt: string
        /** The order. */
        order: Order
      }>
      /** Send it as `before` for the next page; null at the end. */
      nextBefore: string | null
    }
  }
  /** Sales by day and channel, and what needs a person. Sales by day and by channel over the last days, and how much waits for a person. */
  getSummary: {
    params: {
      /** One entry for each day, oldest first. */
      days?: number
      /** Whose midnights begin the days: a name of the IANA database, such as Europe/Paris. */
      timeZone?: string
      /** For operators. */
      companyId?: string
    }
    data: {
      /** One entry for each day, oldest first. */
      days: Array<{
        /** In the time zone that was asked for. */
        day: string
        /** Orders created on that day. */
        created: number
        /** Orders paid. */
        paid: number
        /** USDC, decimal text with 6 digits. */
        paidAmount: string
        /** What was paid that day, in the currencies of the orders; the largest number first. */
        sales: Array<{
          /** The asset, as its symbol. */
          asset: string
          /** What was paid of their prices. */
          amount: string
        }>
        /** USDC, decimal text with 6 digits. */
        refundedAmount: string
      }>
      /** The payment channels. */
      channels: Array<{
        /** Payment channel. */
        paymentChannel: "binance" | "whitepay" | "whitepay-non-custody" | "cryptopay" | "crypto" | "gatepay" | "coinbase" | "kucoinpay"
        /** Orders paid. */
        paid: number
        /** USDC, decimal text with 6 digits. */
        paidAmount: string
      }>
      /** How many of each wait for a person. */
      needs: {
        /** Mispayments that wait for a decision. */
        mispayments: number
        /** Transfers that match no order and wait for a decision. */
        unmatched: number
        /** Refunds that wait for a person. */
        refunds: number
        /** Webhooks that failed for good. */
        deliveries: number
        /** Identity checks that wait for a decision. */
        identity: number
        /** Addresses that were held or blocked and wait for a decision. */
        screenings: number
        /** Settlements that wait for approval. */
        settlements: number
        /** Companies that wait for approval; 0 for those who approve none. */
        companies: number
      }
    }
  }
  /** Webhook deliveries with their attempts, newest first. One entry for each (order, event), with the attempts to send it. The id is the `Service-Webhook-Id`. */
  listWebhookDeliveries: {
    params: {
      /** What happened. */
      event?: "order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed"
      /** Repeat it, or separate by commas; `status[]` is read too. */
      status?: Array<"pending" | "delivered" | "failed" | "parked">
      /** The order’s code. */
      code?: string
      /** The address, exactly as the order named it. */
      url?: string
      /** createdAt at or after. A date alone: its beginning, UTC. */
      from?: string
      /** createdAt at or before. A date alone: its end, UTC. */
      to?: string
      /** Operators: this company only. */
      companyId?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The deliveries of this page. */
      deliveries: Array<{
        /** The Service-Webhook-Id. */
        id: string
        /** `_id` of the order. */
        orderId: string
        /** Order code: unguessable, used in paths. */
        code: string | null
        /** What happened. */
        event: "order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed"
        /** Address that was called. */
        url: string
        /** Where the object stands. */
        status: "pending" | "delivered" | "failed" | "parked"
        /** When it is sent next; null when it is not. */
        nextAttemptAt: string | null
        /** Every attempt to send it, oldest first. */
        attempts: Array<{
          /** 1 to 5; an attempt of unknown outcome shares the number of its repetition. */
          number: number
          /** 1 at first; each redelivery adds 1. */
          series: number
          /** `schedule`, or `manual` for a redelivery. */
          trigger: "schedule" | "manual"
          /** When the attempt began. */
          startedAt: string
          /** Milliseconds until the answer. */
          durationMs: number | null
          /** HTTP status of the answer; null when there was none. */
          statusCode: number | null
          /** One of: http_status, redirect_refused, timeout, connect_timeout, dns_not_found, dns_timeout, dns_failed, connection_refused, connection_reset, host_unreachable, answer_cut_off, bad_answer, tls_certificate_expired, tls_wrong_host, tls_untrusted, tls_failed, address_refused, scheme_refused, send_failed, unknown_outcome. */
          errorCode: string | null
          /** The first 1024 bytes of the answer. */
          responseBody: string | null
        }>
        /** When it was created. UTC, with milliseconds. */
        createdAt: string
      }>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** One delivery with its request. A delivery with its attempts and the request as it was sent. */
  getWebhookDelivery: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** The Service-Webhook-Id. */
      id: string
      /** `_id` of the order. */
      orderId: string
      /** Order code: unguessable, used in paths. */
      code: string | null
      /** What happened. */
      event: "order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed"
      /** Address that was called. */
      url: string
      /** Where the object stands. */
      status: "pending" | "delivered" | "failed" | "parked"
      /** When it is sent next; null when it is not. */
      nextAttemptAt: string | null
      /** Every attempt to send it, oldest first. */
      attempts: Array<{
        /** 1 to 5; an attempt of unknown outcome shares the number of its repetition. */
        number: number
        /** 1 at first; each redelivery adds 1. */
        series: number
        /** `schedule`, or `manual` for a redelivery. */
        trigger: "schedule" | "manual"
        /** When the attempt began. */
        startedAt: string
        /** Milliseconds until the answer. */
        durationMs: number | null
        /** HTTP status of the answer; null when there was none. */
        statusCode: number | null
        /** One of: http_status, redirect_refused, timeout, connect_timeout, dns_not_found, dns_timeout, dns_failed, connection_refused, connection_reset, host_unreachable, answer_cut_off, bad_answer, tls_certificate_expired, tls_wrong_host, tls_untrusted, tls_failed, address_refused, scheme_refused, send_failed, unknown_outcome. */
        errorCode: string | null
        /** The first 1024 bytes of the answer. */
        responseBody: string | null
      }>
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** What was sent. */
      request: {
        /** HTTP method. */
        method: "POST"
        /** Address that was called. */
        url: string
        /** Without the signature headers, which are computed for each attempt. */
        headers: Record<string, string>
        /** The bytes that were sent. */
        body: string
      }
    }
  }
  /** One delivery as a shell command, freshly signed. A `curl` command that sends the same body with a fresh signature. */
  getWebhookDeliveryAsCurl: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: Response
  }
  /** Send one delivery again, under the same id. Sends the same bytes under the same id once more. */
  redeliverWebhook: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Identifier: 24 hex characters. */
      id: string
    }
  }
  /** Send many deliveries again; without a status: the failed and parked ones. Sends every delivery that the filters match once more, at most 10 000; without `status`, the failed and parked ones. The filters of the list, in the body or in the address; what is no filter is refused. */
  redeliverWebhooks: {
    params: {
      /** What happened. */
      event?: "order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed"
      /** Repeat it, or separate by commas; `status[]` is read too. */
      status?: Array<"pending" | "delivered" | "failed" | "parked">
      /** The order’s code. */
      code?: string
      /** The address, exactly as the order named it. */
      url?: string
      /** createdAt at or after. A date alone: its beginning, UTC. */
      from?: string
      /** createdAt at or before. A date alone: its end, UTC. */
      to?: string
      /** Operators: this company only. */
      companyId?: string
      /** At most so many, the oldest first. */
      limit?: number
      body?: {
        /** What happened. */
        event?: "order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed"
        /** A list, or separated by commas. Without it: failed and parked. */
        status?: Array<string> | string
        /** The order’s code. */
        code?: string
        /** The address, exactly as the order named it. */
        url?: string
        /** createdAt at or after. A date alone: its beginning, UTC. */
        from?: string
        /** createdAt at or before. A date alone: its end, UTC. */
        to?: string
        /** Operators: this company only. */
        companyId?: string
        /** At most so many, the oldest first. */
        limit?: number
      }
    }
    data: {
      /** How many are sent again. */
      redelivered: number
      /** How many at most. */
      limit: number
    }
  }
  /** The addresses that webhooks went to, with how they fare; the newest delivery first. Each address that orders named for webhooks and that had one in these days: how many arrived, wait and failed, and the last failure. At most 100, the newest delivery first; `total` counts all. Operators name a company. */
  listWebhookAddresses: {
    params: {
      /** Deliveries of so many days until now. */
      days?: number
      /** Operators: this company only. */
      companyId?: string
    }
    data: {
      /** At most 100. */
      addresses: Array<{
        /** Address that was called. */
        url: string
        /** How many deliveries went to this address, or wait to. */
        deliveries: number
        /** How many of them arrived. */
        delivered: number
        /** How many wait for an attempt, or are being sent. */
        pending: number
        /** How many failed after their last attempt. */
        failed: number
        /** How many are set aside until they are sent again by hand. */
        parked: number
        /** When the newest delivery was created. */
        lastDeliveryAt: string
        /** The earliest next attempt; null when nothing waits. */
        nextAttemptAt: string | null
        /** The newest attempt that was not answered 2xx; null when all were. */
        lastFailure: {
          /** When that attempt began. */
          at: string
          /** HTTP status of the answer; null when there was none. */
          statusCode: number | null
          /** One of: http_status, redirect_refused, timeout, connect_timeout, dns_not_found, dns_timeout, dns_failed, connection_refused, connection_reset, host_unreachable, answer_cut_off, bad_answer, tls_certificate_expired, tls_wrong_host, tls_untrusted, tls_failed, address_refused, scheme_refused, send_failed, unknown_outcome. */
          errorCode: string | null
        } | null
      }>
      /** How many addresses there are, also beyond the 100. */
      total: number
      /** How many days this covers. */
      days: number
    }
  }
  /** Send a test event to a receiver. One webhook with a made-up order, signed with your secret, sent once and at once. Its body holds `"test": true` and the code `TEST-ORDER`. At most ten a minute. */
  sendTestWebhook: {
    params: {
      body: {
        /** The receiver; checked like a webhookUrl. */
        url: string
        /** Operators: this company only. */
        companyId?: string
        /** What happened. */
        event?: "order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed"
      }
    }
    data: {
      /** The Service-Webhook-Id. */
      id: string
      /** Whether the server answered 2xx. */
      delivered: boolean
      /** HTTP status of the answer; null when there was none. */
      statusCode: number | null
      /** Why there was no answer; null when there was one. */
      errorCode: string | null
      /** Milliseconds until the answer. */
      durationMs: number
      /** The first 1024 bytes of the answer. */
      responseBody: string | null
      /** What was sent. */
      body: string
    }
  }
  /** The events that this account receives. The events that are sent, and the optional ones that the operator can enable. */
  getWebhookSubscriptions: {
    params: {
      /** Operators: this company only. */
      companyId?: string
    }
    data: {
      /** What this account receives. */
      events: Array<"order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed">
      /** Everything that the operator can enable. */
      available: Array<"order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed">
    }
  }
  /** Enable or disable the optional events of an account (operator). The operator chooses the optional events of an account. The four default events always stay. */
  changeWebhookSubscriptions: {
    params: {
      /** Operators: this company only. */
      companyId?: string
      body: {
        /** Events. */
        events: Array<"order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed">
        /** Operators: this company only. */
        companyId?: string
      }
    }
    data: {
      /** What this account receives. */
      events: Array<"order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed">
      /** Everything that the operator can enable. */
      available: Array<"order.initial" | "order.pending" | "order.awaiting" | "order.waiting_chain_confirmation" | "order.paid" | "order.cancelled" | "order.error" | "order.expired" | "order.kyt_failed" | "order.refunding" | "order.refunded" | "order.full_refunded" | "kyc.pending" | "kyc.approved" | "kyc.refused" | "kyc.edd_completed">
    }
  }
  /** Register. Public for SimpleUser, Manager and Association. A Cashier or an Observer needs a manager’s approval. A SuperAdmin registers the other roles, with a fresh second factor. */
  register: {
    params: {
      /** Language of mails. Default: en. */
      lang?: "en" | "fr" | "de" | "es" | "it"
      body: {
        /** E-mail address. */
        email: string
        /** 12 to 128 characters with upper case, lower case, a digit and a special character. */
        password: string
        /** First name. */
        firstName: string
        /** Last name. */
        lastName: string
        /** Role. */
        role: "SuperAdmin" | "SuperManager" | "Manager" | "Association" | "Cashier" | "Observer" | "SimpleUser" | "Service"
        /** Manager: the new company. Cashier, Observer: the one to join. */
        companyName?: string
        /** Name of the association; required for the role Association. */
        associationName?: string
        /** Where the user logs in, or comes from. */
        origin?: string
        /** Phone number. */
        phoneNumber?: string
        /** ISO 3166-1 alpha-2. */
        phoneNumberCountry?: string
      }
    }
    data: {
      /** Access token, valid for ten minutes. */
      token: string
      /** The user. */
      user: User
    }
  }
  /** Log in (managers, cashiers, observers, associations). If a second factor is needed, `token` is null; confirm with POST /auth/otp and the cookie `otpValidationToken`. */
  loginManager: {
    params: {
      body: {
        /** E-mail address. */
        email: string
        /** The password. */
        password: string
        /** Decides how long the session lives. */
        origin: "dashboard" | "application"
      }
    }
    data: {
      /** Null: a second factor is needed; see the cookie `otpValidationToken`. */
      token: string | null
      /** The user. */
      user: User
    }
  }
  /** Log in (SimpleUser, SuperAdmin, Service). If a second factor is needed, `token` is null; confirm with POST /auth/otp and the cookie `otpValidationToken`. */
  login: {
    params: {
      body: {
        /** E-mail address. */
        email: string
        /** The password. */
        password: string
      }
    }
    data: {
      /** Null: a second factor is needed; see the cookie `otpValidationToken`. */
      token: string | null
      /** The user. */
      user: User
    }
  }
  /** Confirm a login or a sensitive action with a second factor. Finishes a login (cookie `otpValidationToken`, or its value as bearer). With the bearer of a running session it is a step-up: it allows sensitive actions for five minutes. In a browser add `stepUp=true`, or a login begun in another tab takes the code. */
  validateOtp: {
    params: {
      /** For the session of the bearer, even if this browser has also begun a login (cookie `otpValidationToken`). */
      stepUp?: boolean
      body?: {
        /** From the authenticator app. */
        otp?: string
        /** Received by e-mail. */
        emailOtp?: string
        /** One of the ten recovery codes. */
        recoveryCode?: string
        /** `toJSON()` of what `navigator.credentials.get` returned, for POST /auth/passkey/options. */
        passkey?: {
          /** Credential id. */
          id: string
          /** Credential id. */
          rawId: string
          /** Always public-key. */
          type: "public-key"
          /** Where the authenticator is. */
          authenticatorAttachment?: string
          /** As the browser gives it. */
          clientExtensionResults: Record<string, unknown>
          /** What the authenticator answered. */
          response: {
            /** What the browser signed for. */
            clientDataJSON: string
            /** What the authenticator says of itself. */
            authenticatorData: string
            /** The signature. */
            signature: string
            /** Whose passkey it is. */
            userHandle?: string
          }
        }
      }
    }
    data: {
      /** Access token, valid for ten minutes. */
      token: string
      /** The user. */
      user: User
    }
  }
  /** Send a code by e-mail. For the pending login in this browser, or for a step-up when you send a bearer. Sends at most one code a minute. */
  sendEmailOtp: {
    params: {
      /** For the session of the bearer, even if this browser has also begun a login (cookie `otpValidationToken`). */
      stepUp?: boolean
      body: {
        /** E-mail address. */
        email: string
      }
    }
    data: null
  }
  /** Send the verification mail again. Sends the mail with the verification link again. A verified address gets none. */
  sendVerification: {
    params: Record<never, never>
    data: null
  }
  /** Get a new access token. Reads the refresh cookie and rotates it. Reusing an old cookie ends its session. */
  refreshToken: {
    params: Record<never, never>
    data: {
      /** Access token, valid ten minutes; null while the second factor is missing. */
      token: string
    }
  }
  /** Sign out. Ends the session of the refresh cookie, and of the bearer if you send one. */
  signOut: {
    params: Record<never, never>
    data: {
      /** True: the refresh token is gone. */
      disconnected: boolean
    }
  }
  /** List your sessions. Where you are logged in. */
  listSessions: {
    params: Record<never, never>
    data: Array<{
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Whether it is the session of this call. */
      current: boolean
      /** Which kind it is. */
      kind: "dashboard" | "application" | "till"
      /** Address that the call came from. */
      ip: string | null
      /** The browser, as it names itself. */
      userAgent: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it was last used. */
      lastUsedAt: string
      /** When it ends; null: never. */
      expiresAt: string
    }>
  }
  /** End one of your sessions. Ends the session at once; its tokens stop working. */
  revokeSession: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: null
  }
  /** End all your other sessions, and your command-line logins. Ends every session but the one that asks. */
  revokeOtherSessions: {
    params: Record<never, never>
    data: {
      /** How many sessions were ended. */
      revoked: number
    }
  }
  /** List your passkeys. Your passkeys, oldest first. Keys themselves are never shown. */
  listPasskeys: {
    params: Record<never, never>
    data: Array<{
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** For its owner, to tell one from another. */
      name: string
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last proved a login or a step-up. */
      lastUsedAt: string | null
    }>
  }
  /** Add the passkey that the authenticator made. Checks what the authenticator made and keeps its public key as a second factor. A mail tells you about it. */
  addPasskey: {
    params: {
      body: {
        /** For its owner, to tell one from another. */
        name: string
        /** `toJSON()` of what `navigator.credentials.create` returned. */
        response: {
          /** Credential id. */
          id: string
          /** Credential id. */
          rawId: string
          /** Always public-key. */
          type: "public-key"
          /** Where the authenticator is. */
          authenticatorAttachment?: string
          /** As the browser gives it. */
          clientExtensionResults: Record<string, unknown>
          /** What the authenticator answered. */
          response: {
            /** What the browser signed for. */
            clientDataJSON: string
            /** The new key, as the authenticator describes it. */
            attestationObject: string
            /** What the authenticator says of itself. */
            authenticatorData?: string
            /** The new public key. */
            publicKey?: string
            /** COSE number of its kind. */
            publicKeyAlgorithm?: number
            /** How it is reached. */
            transports?: Array<string>
          }
        }
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** For its owner, to tell one from another. */
      name: string
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last proved a login or a step-up. */
      lastUsedAt: string | null
    }
  }
  /** Begin adding a passkey. Answers what `navigator.credentials.create` needs. It is good for five minutes, and nothing changes before the passkey is added. */
  beginPasskey: {
    params: Record<never, never>
    data: {
      /** For the browser: `PublicKeyCredential.parse…OptionsFromJSON` (WebAuthn level 3). */
      options: {
      }
    }
  }
  /** Remove one of your passkeys. It proves nothing from now on. Without any factor of your own, codes come by email. */
  removePasskey: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: null
  }
  /** What a passkey has to sign for a login or a step-up. For the pending login in this browser, or for a step-up when you send a bearer. Send the signed answer to POST /auth/otp as `passkey`. */
  beginPasskeyProof: {
    params: {
      /** For the session of the bearer, even if this browser has also begun a login (cookie `otpValidationToken`). */
      stepUp?: boolean
    }
    data: {
      /** For the browser: `PublicKeyCredential.parse…OptionsFromJSON` (WebAuthn level 3). */
      options: {
      }
    }
  }
  /** Request a password reset. The answer is the same for every address. With `origin=application` it is a token, which works once the mailed link or code is used. */
  sendPasswordReset: {
    params: {
      /** Language of mails. Default: en. */
      lang?: "en" | "fr" | "de" | "es" | "it"
      body: {
        /** E-mail address. */
        email: string
        /** `application`: returns a token, which works once the mailed link or code is used. */
        origin?: string
      }
    }
    data: string | null
  }
  /** Set a new password. Ends all sessions and command-line logins. The next login still needs the second factor. */
  changeForgottenPassword: {
    params: {
      body: {
        /** Token of the mail. */
        token: string
        /** 12 to 128 characters with upper case, lower case, a digit and a special character. */
        newPassword: string
        /** The mailed code. Required for a token of origin `application` unless its link was opened. */
        emailOtp?: string
      }
    }
    data: null
  }
  /** Change your password. Ends all your other sessions, and your command-line logins. */
  changePassword: {
    params: {
      body: {
        /** The current password. */
        password: string
        /** 12 to 128 characters with upper case, lower case, a digit and a special character. */
        newPassword: string
      }
    }
    data: null
  }
  /** Confirm an e-mail address with the mailed token. The first time it ends every other session and command-line login of the account: yours is the one of the refresh cookie or the bearer that you send. If you send none, the password of an account without a second factor ends too: the answer is then a token for `POST /auth/reset-password/change`. */
  verifyEmail: {
    params: {
      body: {
        /** Token of the mail. */
        token: string
      }
    }
    data: string | null
  }
  /** Start enrolling an authenticator app. Answers what an authenticator app reads. Nothing changes before it is enabled. */
  setupTwoFactor: {
    params: Record<never, never>
    data: {
      /** What the authenticator app reads. */
      otpauthUri: string
      /** The same as a QR code. */
      qrSvg: string
    }
  }
  /** Finish the enrolment with a code from the app. Enrols the app when its code is right, and answers ten recovery codes. */
  enableTwoFactor: {
    params: {
      body: {
        /** 6 digits of the authenticator app. */
        otp: string
      }
    }
    data: {
      /** Each replaces a code once. Shown only now. */
      recoveryCodes: Array<string>
    }
  }
  /** Create ten new recovery codes; the old ones stop working. Makes ten new recovery codes. The old ones stop working. */
  renewRecoveryCodes: {
    params: Record<never, never>
    data: {
      /** Each replaces a code once. Shown only now. */
      recoveryCodes: Array<string>
    }
  }
  /** Remove the authenticator app; codes then come by e-mail. Removes the authenticator app. Codes then come by e-mail. */
  disableTwoFactor: {
    params: Record<never, never>
    data: null
  }
  /** Your own profile. The user that the credential belongs to, with the company. */
  getMe: {
    params: Record<never, never>
    data: User
  }
  /** Change your own profile. Changes name, phone number and language of the user who asks. */
  changeMe: {
    params: {
      body?: {
        /** First name. */
        firstName?: string
        /** Last name. */
        lastName?: string
        /** Phone number. */
        phoneNumber?: string
        /** ISO 3166-1 alpha-2. */
        phoneNumberCountry?: string
        /** Language of mails. Default: en. */
        lang?: "en" | "fr" | "de" | "es" | "it"
        /** A mail for each sale that you may see: for the people of a company. */
        saleMails?: boolean
      }
    }
    data: User
  }
  /** What you may do. The rows of the permission table that your role opens, so that a client offers nothing else. */
  listMyPermissions: {
    params: Record<never, never>
    data: {
      /** Rows of the permission table. */
      permissions: Array<"orders.create" | "orders.status" | "orders.list" | "orders.history" | "orders.summary" | "orders.links" | "orders.download" | "orders.cancel" | "orders.expire" | "orders.payer" | "orders.send" | "notes.read" | "notes.write" | "payers.read" | "payers.erase" | "orders.events" | "payments.accept" | "payments.confirm" | "payments.transaction" | "refunds.revert" | "requests.read" | "webhooks.deliveries" | "webhooks.curl" | "webhooks.redeliver" | "webhooks.test" | "webhooks.secret" | "webhooks.regenerate" | "webhooks.subscriptions" | "webhooks.subscribe" | "refunds.read" | "refunds.decide" | "refunds.record" | "refunds.settle" | "mispayments.read" | "mispayments.decide" | "mispayments.bear" | "ledger.read" | "ledger.explain" | "settlements.read" | "settlements.create" | "settlements.cancel" | "settlements.approve" | "settlements.pay" | "kyc.read" | "kyc.start" | "kyc.decide" | "kyc.requestEdd" | "kyc.completeEdd" | "compliance.callback" | "screenings.read" | "screenings.decide" | "rates.read" | "channels.callback" | "channels.read" | "channels.accounts" | "channels.account" | "channels.rules" | "channels.rule" | "channels.exchanges" | "auth.register" | "auth.login" | "auth.otp" | "auth.otpEmail" | "auth.resetSend" | "auth.resetChange" | "auth.verifyEmail" | "auth.refresh" | "auth.signOut" | "auth.sendVerification" | "auth.sessions" | "auth.password" | "auth.twoFactor" | "auth.twoFactorRemove" | "users.me" | "users.list" | "users.invite" | "users.change" | "users.approve" | "users.companies" | "users.resetTwoFactor" | "companies.read" | "companies.change" | "companies.approve" | "tills.read" | "tills.write" | "tillDevices.read" | "tillDevices.create" | "tillDevices.revoke" | "tillPins.read" | "tillPins.change" | "till.shift" | "till.enrol" | "till.signIn" | "till.device" | "staticLinks.read" | "staticLinks.write" | "buttons.read" | "buttons.write" | "buttonSessions.read" | "buttonSessions.write" | "buttonSessions.end" | "apiKeys.read" | "apiKeys.create" | "apiKeys.revoke" | "apiKeys.revokeOwn" | "deviceLogins.start" | "deviceLogins.claim" | "deviceLogins.read" | "deviceLogins.approve" | "deviceLogins.deny" | "operator.status" | "audit.verify" | "announcements.read" | "announcements.write" | "audit.read">
    }
  }
  /** List the users of your company. Users of your company, with filters. */
  listUsers: {
    params: {
      /** For users of several companies: only this one. */
      companyId?: string
      /** Role. */
      role?: "SuperAdmin" | "SuperManager" | "Manager" | "Association" | "Cashier" | "Observer" | "SimpleUser" | "Service"
      /** Searches e-mail and name. */
      search?: string
      /** Only users waiting for approval. */
      pending?: boolean
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The users of this page. */
      users: Array<User>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Invite a user to your company. The user gets a link to choose a password. Inviting again while no link was used sends a new one, and replaces names, language and role. Over an account that is no one’s the invited user waits until the link is used. Inviting a Manager, or a Manager who was invited before with another role, needs a fresh second factor. */
  inviteUser: {
    params: {
      body: {
        /** E-mail address. */
        email: string
        /** First name. */
        firstName: string
        /** Last name. */
        lastName: string
        /** Role. */
        role: "SuperAdmin" | "SuperManager" | "Manager" | "Association" | "Cashier" | "Observer" | "SimpleUser" | "Service"
        /** For operators. Default: your own company. */
        companyId?: string
        /** Language of mails. Default: en. */
        lang?: "en" | "fr" | "de" | "es" | "it"
      }
    }
    data: User
  }
  /** One user of your company. One user of your company. */
  getUser: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: User
  }
  /** Rename or disable a user, or change the role. Changing the role or disabling ends the user’s sessions at once. */
  changeUser: {
    params: {
      /** 24 hex characters. */
      id: string
      body?: {
        /** First name. */
        firstName?: string
        /** Last name. */
        lastName?: string
        /** Role. */
        role?: "SuperAdmin" | "SuperManager" | "Manager" | "Association" | "Cashier" | "Observer" | "SimpleUser" | "Service"
        /** Whether the user may no longer log in. */
        disabled?: boolean
      }
    }
    data: User
  }
  /** Approve a Cashier or an Observer. A Cashier or Observer who registered may work from now on. */
  approveUser: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: User
  }
  /** The companies of a SuperManager. The companies that are attached to a SuperManager. */
  listCompaniesOfUser: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: {
      /** Ids of the companies. */
      companies: Array<string>
    }
  }
  /** Replace the companies of a SuperManager. Replaces the companies of a SuperManager by the list. */
  attachCompanies: {
    params: {
      /** 24 hex characters. */
      id: string
      body: {
        /** Ids of the companies. */
        companies: Array<string>
      }
    }
    data: {
      /** Ids of the companies. */
      companies: Array<string>
    }
  }
  /** Remove the authenticator of a user who lost it. Removes the authenticator of a user. The next login sends a code by e-mail. */
  resetTwoFactorOfUser: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: null
  }
  /** List API keys that are not revoked. Without `page` and `limit` the 500 used or made last, expired ones at the end. With either, all of them in pages of `limit` (500), the newest first; a page with fewer is the last. */
  listApiKeys: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: Array<{
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Name for people. */
      name: string
      /** The company it belongs to. */
      company: string
      /** Public id: the header `x-api-key`. */
      apiKey: string
      /** What the key may do. */
      scopes: Array<"orders:read" | "orders:write" | "refunds:write" | "sessions:write" | "webhooks:read" | "webhooks:write" | "passwords:write">
      /** When it ends; null: never. */
      expiresAt: string | null
      /** When it was last used. */
      lastUsedAt: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
    }>
  }
  /** Create an API key; needs a fresh second factor. Makes a key for a server. The secret is shown once, in this answer. */
  createApiKey: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      body: {
        /** Name for people. */
        name: string
        /** What the key may do. */
        scopes: Array<"orders:read" | "orders:write" | "refunds:write" | "sessions:write" | "webhooks:read" | "webhooks:write" | "passwords:write">
        /** When it ends; without it, never. */
        expiresAt?: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Name for people. */
      name: string
      /** The company it belongs to. */
      company: string
      /** Public id: the header `x-api-key`. */
      apiKey: string
      /** What the key may do. */
      scopes: Array<"orders:read" | "orders:write" | "refunds:write" | "sessions:write" | "webhooks:read" | "webhooks:write" | "passwords:write">
      /** When it ends; without it, never. */
      expiresAt: string | null
      /** When it was last used. */
      lastUsedAt: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** The header `x-api-secret`, or the bearer. Shown only now. */
      apiSecret: string
    }
  }
  /** Revoke the key that you hold. Whoever holds a key may end it: `comptoir logout` does. An unknown key answers the same. */
  revokeOwnApiKey: {
    params: {
      body: {
        /** Public id of an API key. */
        apiKey: string
        /** Secret of the API key. Shown only now. */
        apiSecret: string
      }
    }
    data: null
  }
  /** Revoke an API key. The key stops working at once. */
  revokeApiKey: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: null
  }
  /** Start logging in a program. For programs that cannot show a login page (RFC 8628). Show `userCode` and `verificationUri` to the person, then ask POST /auth/device/token until a person has decided. */
  startDeviceLogin: {
    params: {
      body: {
        /** What the program calls itself. The person who confirms reads it as a claim. */
        clientName: string
        /** What the key may do. */
        scopes?: Array<"orders:read" | "orders:write" | "refunds:write" | "sessions:write" | "webhooks:read" | "webhooks:write">
      }
    }
    data: {
      /** Secret of the program that waits. */
      deviceCode: string
      /** The code that the person reads and types. */
      userCode: string
      /** Where the person types the code. */
      verificationUri: string
      /** The same page with the code filled in. */
      verificationUriComplete: string
      /** How long both codes live. */
      expiresInSeconds: number
      /** The shortest pause between two questions. */
      intervalSeconds: number
    }
  }
  /** Fetch the key of a confirmed login. Ask at most every `intervalSeconds`, and longer after SLOW_DOWN. The key is handed out once; within a minute the same code gets the same answer again, so that a lost answer is not a lost key. */
  claimDeviceLogin: {
    params: {
      body: {
        /** Secret of the program that waits. */
        deviceCode: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Name for people. */
      name: string
      /** The company it belongs to. */
      company: string
      /** Public id of an API key. */
      apiKey: string
      /** Secret of the API key. Shown only now. */
      apiSecret: string
      /** What the key may do. */
      scopes: Array<"orders:read" | "orders:write" | "refunds:write" | "sessions:write" | "webhooks:read" | "webhooks:write">
      /** When it ends; null: never. */
      expiresAt: string
    }
  }
  /** Read what a waiting login asks for. What the page of the back office shows before a person confirms. */
  getDeviceLogin: {
    params: {
      /** The code that the person reads and types. */
      userCode: string
    }
    data: {
      /** What the program calls itself. The person who confirms reads it as a claim. */
      clientName: string
      /** Address that the call came from. */
      ip: string
      /** Whether the login was started from the address that you ask from. */
      sameAddress: boolean
      /** What the key may do. */
      scopes: Array<"orders:read" | "orders:write" | "refunds:write" | "sessions:write" | "webhooks:read" | "webhooks:write">
      /** Where the object stands. */
      status: "pending" | "approved" | "denied" | "used"
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it ends; null: never. */
      expiresAt: string
    }
  }
  /** Confirm a login; needs a fresh second factor. The program then fetches a key of your company. You may grant fewer scopes than it asked for. A mail tells you about it. */
  approveDeviceLogin: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** The code that the person reads and types. */
      userCode: string
      body?: {
        /** What the key may do. */
        scopes?: Array<"orders:read" | "orders:write" | "refunds:write" | "sessions:write" | "webhooks:read" | "webhooks:write">
        /** Days that the key lives; default 90. */
        days?: number
      }
    }
    data: null
  }
  /** Refuse a login. The program is told that it was refused. */
  denyDeviceLogin: {
    params: {
      /** The code that the person reads and types. */
      userCode: string
    }
    data: null
  }
  /** List settlements. Payments of USDC to companies, newest first. */
  listSettlements: {
    params: {
      /** For users of several companies. */
      companyId?: string
      /** `waiting`: to be approved or paid, as `needs.settlements` of GET /summary counts them. */
      status?: "open" | "approved" | "paid" | "cancelled" | "waiting"
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: Array<{
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      companyId: string
      /** Where the object stands. */
      status: "open" | "approved" | "paid" | "cancelled"
      /** USDC, 6 digits. */
      amount: string
      /** What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It stays owed, for the next one. Null: nothing. */
      heldBack: string | null
      /** What left, in USDC: another amount only where it left before a restore. Null: not paid. */
      paidAmount: string | null
      /** Where it went: another address than `address` only where it left before a restore. Null: not paid, or nothing left. */
      paidTo: string | null
      /** Wallet address. */
      address: string
      /** Chain id. */
      network: number
      /** Before it is paid, if the last payout went to another address or network, or this is the first: who wrote the address, and when. Ask the company by a way that you know before you approve it. Otherwise null. */
      addressChange: {
        /** Null: an earlier version did not record it, or only the network is another. */
        at: string | null
        /** Name of the person who wrote the address. */
        by: string | null
        /** Where the last payout went; null: this is the first. */
        lastTo: string | null
        /** Chain id of the last payout. */
        lastNetwork: number | null
      } | null
      /** Before it is paid: its address is the one of a backup that was restored. It may have left since, so its transaction can be named while it is open, too. */
      fromBackup: boolean
      /** Hash of the transaction. */
      txHash: string | null
      /** Its current state, for people. */
      message: string | null
      /** Who created it. */
      createdBy: string
      /** The first of two persons; null where one is enough. */
      firstApprovedBy: string | null
      /** Who approved it. */
      approvedBy: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When it was paid; null before. */
      paidAt: string | null
    }>
  }
  /** Settle what is owed to a company. Reserves the balance for one transfer to the company’s settlement address: all of it, or what the operator’s limit of a day allows. `heldBack` is the rest, which stays owed. */
  createSettlement: {
    params: {
      body?: {
        /** For users of several companies. */
        companyId?: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      companyId: string
      /** Where the object stands. */
      status: "open" | "approved" | "paid" | "cancelled"
      /** USDC, 6 digits. */
      amount: string
      /** What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It stays owed, for the next one. Null: nothing. */
      heldBack: string | null
      /** What left, in USDC: another amount only where it left before a restore. Null: not paid. */
      paidAmount: string | null
      /** Where it went: another address than `address` only where it left before a restore. Null: not paid, or nothing left. */
      paidTo: string | null
      /** Wallet address. */
      address: string
      /** Chain id. */
      network: number
      /** Before it is paid, if the last payout went to another address or network, or this is the first: who wrote the address, and when. Ask the company by a way that you know before you approve it. Otherwise null. */
      addressChange: {
        /** Null: an earlier version did not record it, or only the network is another. */
        at: string | null
        /** Name of the person who wrote the address. */
        by: string | null
        /** Where the last payout went; null: this is the first. */
        lastTo: string | null
        /** Chain id of the last payout. */
        lastNetwork: number | null
      } | null
      /** Before it is paid: its address is the one of a backup that was restored. It may have left since, so its transaction can be named while it is open, too. */
      fromBackup: boolean
      /** Hash of the transaction. */
      txHash: string | null
      /** Its current state, for people. */
      message: string | null
      /** Who created it. */
      createdBy: string
      /** The first of two persons; null where one is enough. */
      firstApprovedBy: string | null
      /** Who approved it. */
      approvedBy: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When it was paid; null before. */
      paidAt: string | null
    }
  }
  /** Read a settlement. Where it stands: who decided, and the transaction that paid it. */
  getSettlement: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      companyId: string
      /** Where the object stands. */
      status: "open" | "approved" | "paid" | "cancelled"
      /** USDC, 6 digits. */
      amount: string
      /** What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It stays owed, for the next one. Null: nothing. */
      heldBack: string | null
      /** What left, in USDC: another amount only where it left before a restore. Null: not paid. */
      paidAmount: string | null
      /** Where it went: another address than `address` only where it left before a restore. Null: not paid, or nothing left. */
      paidTo: string | null
      /** Wallet address. */
      address: string
      /** Chain id. */
      network: number
      /** Before it is paid, if the last payout went to another address or network, or this is the first: who wrote the address, and when. Ask the company by a way that you know before you approve it. Otherwise null. */
      addressChange: {
        /** Null: an earlier version did not record it, or only the network is another. */
        at: string | null
        /** Name of the person who wrote the address. */
        by: string | null
        /** Where the last payout went; null: this is the first. */
        lastTo: string | null
        /** Chain id of the last payout. */
        lastNetwork: number | null
      } | null
      /** Before it is paid: its address is the one of a backup that was restored. It may have left since, so its transaction can be named while it is open, too. */
      fromBackup: boolean
      /** Hash of the transaction. */
      txHash: string | null
      /** Its current state, for people. */
      message: string | null
      /** Who created it. */
      createdBy: string
      /** The first of two persons; null where one is enough. */
      firstApprovedBy: string | null
      /** Who approved it. */
      approvedBy: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When it was paid; null before. */
      paidAt: string | null
    }
  }
  /** What a settlement pays for. The payments and refunds since the settlement before, and how they make its amount. With `format=csv` every line as a file, for who may download orders. */
  readSettlementStatement: {
    params: {
      /** `nextCursor` of the previous page. */
      after?: string
      /** Lines on a page. */
      limit?: number
      /** Format of the answer. */
      format?: "json" | "csv"
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** The settlement itself. */
      settlement: {
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** The company it belongs to. */
        companyId: string
        /** Where the object stands. */
        status: "open" | "approved" | "paid" | "cancelled"
        /** USDC, 6 digits. */
        amount: string
        /** What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It stays owed, for the next one. Null: nothing. */
        heldBack: string | null
        /** What left, in USDC: another amount only where it left before a restore. Null: not paid. */
        paidAmount: string | null
        /** Where it went: another address than `address` only where it left before a restore. Null: not paid, or nothing left. */
        paidTo: string | null
        /** Wallet address. */
        address: string
        /** Chain id. */
        network: number
        /** Before it is paid, if the last payout went to another address or network, or this is the first: who wrote the address, and when. Ask the company by a way that you know before you approve it. Otherwise null. */
        addressChange: {
          /** Null: an earlier version did not record it, or only the network is another. */
          at: string | null
          /** Name of the person who wrote the address. */
          by: string | null
          /** Where the last payout went; null: this is the first. */
          lastTo: string | null
          /** Chain id of the last payout. */
          lastNetwork: number | null
        } | null
        /** Before it is paid: its address is the one of a backup that was restored. It may have left since, so its transaction can be named while it is open, too. */
        fromBackup: boolean
        /** Hash of the transaction. */
        txHash: string | null
        /** Its current state, for people. */
        message: string | null
        /** Who created it. */
        createdBy: string
        /** The first of two persons; null where one is enough. */
        firstApprovedBy: string | null
        /** Who approved it. */
        approvedBy: string | null
        /** When it was created. UTC, with milliseconds. */
        createdAt: string
        /** When it last changed. UTC, with milliseconds. */
        updatedAt: string
        /** When it was paid; null before. */
        paidAt: string | null
      }
      /** When the settlement before was made; null: this is the first. */
      since: string | null
      /** How the amount came about. */
      summary: {
        /** What the settlement before left: the reserve, what it held back, or what it paid less than its amount. In USDC; negative where it lessens the amount. */
        carriedOver: string
        /** What was paid. */
        payments: {
          /** How many. */
          count: number
          /** Prices of what was paid. In USDC; negative where it lessens the amount. */
          gross: string
          /** What the operator kept of it, in USDC. */
          fees: string
          /** What is left. In USDC; negative where it lessens the amount. */
          net: string
        }
        /** The refunds of this page. */
        refunds: {
          /** How many were started. */
          count: number
          /** Refunds out of the company’s balance. In USDC; negative where it lessens the amount. */
          amount: string
        }
        /** Refunds that were rejected or refused, also those that an earlier settlement has as refunds. */
        takenBack: {
          /** How many. */
          count: number
          /** What came back to the balance. In USDC; negative where it lessens the amount. */
          amount: string
        }
        /** Money that left the chain and that the company bears. In USDC; negative where it lessens the amount. */
        losses: string
        /** The sum of all above. In USDC; negative where it lessens the amount. */
        owed: string
        /** What the company holds of it itself, at its own accounts; null: not recorded then. In USDC; negative where it lessens the amount. */
        ownAccounts: string | null
        /** Money that left the chain, before a decision who bears it. In USDC; negative where it lessens the amount. */
        undecided: string | null
        /** What stays with the operator as cover for refunds. In USDC; negative where it lessens the amount. */
        reserve: string | null
        /** What stays owed, because a settlement is at most the operator’s limit of a day. In USDC; negative where it lessens the amount. */
        heldBack: string | null
        /** What is settled: the sum of the last five. In USDC; negative where it lessens the amount. */
        amount: string
      }
      /** Oldest first. */
      lines: Array<{
        /** Booking that the line belongs to. */
        journalId: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Which kind it is. */
        kind: "payment" | "refund" | "refund_dropped" | "loss_borne"
        /** The order. */
        code: string | null
        /** Its short code. */
        shortCode: string | null
        /** Your reference of it. */
        alias: string | null
        /** A payment: what was paid of the price of its order, in your currency; of an accepted part, its share. Null for refunds and losses. */
        fromAmount: string | null
        /** Fiat currency. */
        fromAsset: string | null
        /** Before the fee. In USDC; negative where it lessens the amount. */
        gross: string
        /** What the operator kept of it, in USDC. */
        fee: string
        /** What it changed for the company. In USDC; negative where it lessens the amount. */
        amount: string
        /** The payer paid to the company’s own account. */
        ownAccount: boolean
      }>
      /** Where the next page begins; null at the end. */
      nextCursor: string | null
    }
  }
  /** Let a settlement be paid. The operator approves a settlement; it can then be paid. */
  approveSettlement: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      companyId: string
      /** Where the object stands. */
      status: "open" | "approved" | "paid" | "cancelled"
      /** USDC, 6 digits. */
      amount: string
      /** What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It stays owed, for the next one. Null: nothing. */
      heldBack: string | null
      /** What left, in USDC: another amount only where it left before a restore. Null: not paid. */
      paidAmount: string | null
      /** Where it went: another address than `address` only where it left before a restore. Null: not paid, or nothing left. */
      paidTo: string | null
      /** Wallet address. */
      address: string
      /** Chain id. */
      network: number
      /** Before it is paid, if the last payout went to another address or network, or this is the first: who wrote the address, and when. Ask the company by a way that you know before you approve it. Otherwise null. */
      addressChange: {
        /** Null: an earlier version did not record it, or only the network is another. */
        at: string | null
        /** Name of the person who wrote the address. */
        by: string | null
        /** Where the last payout went; null: this is the first. */
        lastTo: string | null
        /** Chain id of the last payout. */
        lastNetwork: number | null
      } | null
      /** Before it is paid: its address is the one of a backup that was restored. It may have left since, so its transaction can be named while it is open, too. */
      fromBackup: boolean
      /** Hash of the transaction. */
      txHash: string | null
      /** Its current state, for people. */
      message: string | null
      /** Who created it. */
      createdBy: string
      /** The first of two persons; null where one is enough. */
      firstApprovedBy: string | null
      /** Who approved it. */
      approvedBy: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When it was paid; null before. */
      paidAt: string | null
    }
  }
  /** A settlement that was sent by hand. The transaction is checked on its chain: USDC, amount, address; paid when it is final. If its message says that it left with another amount before a restore, name the transaction that the message names: it is paid with what left, and the difference is owed again. One that is open since a backup (`fromBackup`) may have left as well: name its transaction instead of cancelling it. */
  reportSettlementPaid: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Hash of the transaction. */
        txHash: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      companyId: string
      /** Where the object stands. */
      status: "open" | "approved" | "paid" | "cancelled"
      /** USDC, 6 digits. */
      amount: string
      /** What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It stays owed, for the next one. Null: nothing. */
      heldBack: string | null
      /** What left, in USDC: another amount only where it left before a restore. Null: not paid. */
      paidAmount: string | null
      /** Where it went: another address than `address` only where it left before a restore. Null: not paid, or nothing left. */
      paidTo: string | null
      /** Wallet address. */
      address: string
      /** Chain id. */
      network: number
      /** Before it is paid, if the last payout went to another address or network, or this is the first: who wrote the address, and when. Ask the company by a way that you know before you approve it. Otherwise null. */
      addressChange: {
        /** Null: an earlier version did not record it, or only the network is another. */
        at: string | null
        /** Name of the person who wrote the address. */
        by: string | null
        /** Where the last payout went; null: this is the first. */
        lastTo: string | null
        /** Chain id of the last payout. */
        lastNetwork: number | null
      } | null
      /** Before it is paid: its address is the one of a backup that was restored. It may have left since, so its transaction can be named while it is open, too. */
      fromBackup: boolean
      /** Hash of the transaction. */
      txHash: string | null
      /** Its current state, for people. */
      message: string | null
      /** Who created it. */
      createdBy: string
      /** The first of two persons; null where one is enough. */
      firstApprovedBy: string | null
      /** Who approved it. */
      approvedBy: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When it was paid; null before. */
      paidAt: string | null
    }
  }
  /** Take a settlement back before it is paid. Withdraws a settlement that is not paid. What it would have paid is owed again. */
  cancelSettlement: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** The company it belongs to. */
      companyId: string
      /** Where the object stands. */
      status: "open" | "approved" | "paid" | "cancelled"
      /** USDC, 6 digits. */
      amount: string
      /** What was ready beyond this amount, in USDC: a settlement is at most the operator’s `SETTLEMENT_DAY_LIMIT`. It stays owed, for the next one. Null: nothing. */
      heldBack: string | null
      /** What left, in USDC: another amount only where it left before a restore. Null: not paid. */
      paidAmount: string | null
      /** Where it went: another address than `address` only where it left before a restore. Null: not paid, or nothing left. */
      paidTo: string | null
      /** Wallet address. */
      address: string
      /** Chain id. */
      network: number
      /** Before it is paid, if the last payout went to another address or network, or this is the first: who wrote the address, and when. Ask the company by a way that you know before you approve it. Otherwise null. */
      addressChange: {
        /** Null: an earlier version did not record it, or only the network is another. */
        at: string | null
        /** Name of the person who wrote the address. */
        by: string | null
        /** Where the last payout went; null: this is the first. */
        lastTo: string | null
        /** Chain id of the last payout. */
        lastNetwork: number | null
      } | null
      /** Before it is paid: its address is the one of a backup that was restored. It may have left since, so its transaction can be named while it is open, too. */
      fromBackup: boolean
      /** Hash of the transaction. */
      txHash: string | null
      /** Its current state, for people. */
      message: string | null
      /** Who created it. */
      createdBy: string
      /** The first of two persons; null where one is enough. */
      firstApprovedBy: string | null
      /** Who approved it. */
      approvedBy: string | null
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
      /** When it was paid; null before. */
      paidAt: string | null
    }
  }
  /** Differences between the books and what happened. Where the books and the records differ. Settlements and refunds of the company wait until it is explained. */
  listDifferences: {
    params: {
      /** For users of several companies: only this one. */
      companyId?: string
      /** Where the object stands. */
      status?: "open" | "explained" | "gone"
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: Array<{
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Null: a wallet of the operator, which stops every company. */
      companyId: string | null
      /** What the books were compared with. */
      source: "books" | "transfers" | "balances" | "providers"
      /** The order, refund, settlement, journal or address. */
      subject: string
      /** Code of the order of which a part was refunded in the provider’s console, while the provider does not say how much: POST /ledger/differences/{id}/refunded records it. Null: the difference is about something else. */
      partRefundedOf: string | null
      /** Which check found it. */
      what: string
      /** USDC units, or text. */
      booked: string
      /** What it should be. */
      expected: string
      /** `open` stops refunds and settlements. */
      status: "open" | "explained" | "gone"
      /** What explains it; null: nothing does. */
      explainedBy: string | null
      /** Why, in words; kept in the history. */
      reason: string | null
      /** When it was found. UTC, with milliseconds. */
      foundAt: string
      /** When it last changed. UTC, with milliseconds. */
      updatedAt: string
    }>
  }
  /** Explain a difference. The company’s refunds and settlements resume unless another difference is open. Nothing is booked: a refund from a provider’s console is recorded with POST /ledger/differences/{id}/refunded instead. */
  explainDifference: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
      body: {
        /** Why, in words; kept in the history. */
        reason: string
      }
    }
    data: null
  }
  /** When the books were last checked, and whether they are right. Books are compared with the facts every hour, and again before each refund and settlement. */
  getBooksCheck: {
    params: {
      /** For users of several companies. */
      companyId?: string
    }
    data: {
      /** When the books were last compared with the facts; null: not yet. */
      checkedAt: string | null
      /** Nothing keeps refunds and settlements waiting. */
      ok: boolean
      /** Why they wait: a difference of this company, one of the operator’s wallets, or a database that was restored, or that a standby took over, and is not reconciled. */
      hold: "difference" | "wallets" | "restored" | null
    }
  }
  /** Sales, fees and refunds by month. From the books: what was paid, what the operator kept of it, what went back to payers, and what was lost. */
  listFees: {
    params: {
      /** For users of several companies. */
      companyId?: string
      /** This month and those before it. */
      months?: number
      /** Whose midnights begin the days: a name of the IANA database, such as Europe/Paris. */
      timeZone?: string
    }
    data: {
      /** The fee now, in hundredths of a percent. */
      feeBps: number
      /** Newest first; months without a booking are left out. */
      months: Array<{
        /** Month, in the time zone that was asked for. */
        month: string
        /** Payments that were booked. */
        payments: number
        /** Price of what was paid, in USDC. */
        received: string
        /** What the operator kept of it. */
        fees: string
        /** What left for payers out of the company’s balance, by the day it left. A refund that waits does not count. */
        refunded: string
        /** Money that left the chain and that the company bears; negative: it came back. */
        losses: string
        /** What is left for the company. */
        net: string
      }>
    }
  }
  /** Balances and bookings of a period. With `format=csv` the whole statement of the period as a file, debits and credits in columns, for who may download orders. `finalUntil` is then the header `X-Final-Until`. Periods that follow each other hold every booking once if each is read with `final=true` and starts at the `finalUntil` of the one before it. */
  readLedger: {
    params: {
      /** For users of several companies. */
      companyId?: string
      /** From this time on. A date alone: its beginning, UTC. */
      from?: string
      /** Before this time. A date alone: its end, UTC. */
      to?: string
      /** Only what is before `finalUntil`, as if `to` were that time: what is answered does not change any more. */
      final?: boolean
      /** `nextCursor` of the previous page. Bookings after the first page was read are on no page. */
      after?: string
      /** Journals on a page. */
      limit?: number
      /** Format of the answer. */
      format?: "json" | "csv"
    }
    data: {
      /** The company it belongs to. */
      companyId: string
      /** The end of the period, but at most 15 minutes before its first page was read, earlier while the database waits for a standby. No booking before it is missing; later ones may still be added, so the next period starts here. */
      finalUntil: string
      /** One line an account. */
      balances: Array<{
        /** Account of the ledger. */
        account: "payer_clearing" | "own_account" | "wallet" | "company_payable" | "fees" | "refunds" | "suspense" | "losses" | "rounding" | "settlement_transit"
        /** The asset, as its symbol. */
        asset: string
        /** Before the period. Decimal text, debits positive. */
        opening: string
        /** Sum of debits in it. Decimal text, debits positive. */
        debit: string
        /** Sum of credits in it, without sign. Decimal text, debits positive. */
        credit: string
        /** After it. Decimal text, debits positive. */
        closing: string
      }>
      /** The entries, newest first. */
      entries: Array<{
        /** Booking that the line belongs to. */
        journalId: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** Which kind it is. */
        kind: string
        /** What was booked: a payment, refund or settlement. */
        cause: string
        /** The order. */
        code: string | null
        /** Account of the ledger. */
        account: "payer_clearing" | "own_account" | "wallet" | "company_payable" | "fees" | "refunds" | "suspense" | "losses" | "rounding" | "settlement_transit"
        /** The asset, as its symbol. */
        asset: string
        /**  Decimal text, debits positive. */
        amount: string
      }>
      /** Now, in USDC. What is ready and what is kept are parts of what is owed, less what is undecided. */
      payout: {
        /** What a settlement would pay out, whatever the period. Negative: the company owes it. */
        ready: string
        /** What stays back as the reserve. */
        kept: string
        /** The balance, less what the company holds at its own accounts. Negative: the company owes it. */
        owed: string
        /** What left its chain and waits for a decision who bears it: no debt, and not paid out either. */
        undecided: string
      }
      /** Where the next page begins; null at the end. */
      nextCursor: string | null
    }
  }
  /** The audit log, newest first. Who did what, when, from where, and whether it was allowed. */
  listAuditLog: {
    params: {
      /** For users of several companies: only this one. */
      companyId?: string
      /** How the action begins: `webhook.` */
      action?: string
      /** How the actor begins, or a person’s e-mail. */
      actor?: string
      /** How the object begins: `user:` */
      object?: string
      /** nextBefore of the answer before. */
      before?: string
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The entries, newest first. */
      entries: Array<{
        /** Its place in the chain. */
        seq: string
        /** When it happened. UTC, with milliseconds. */
        at: string
        /** `user:<id>`, `apiKey:<id>`, `operator`, `anyone` */
        actor: string
        /** The person’s name, or the key’s; null where there is none, or no more. */
        actorName: string | null
        /** What was done, as `noun.verb`. */
        action: string
        /** Whether it was done or refused. */
        result: "ok" | "refused"
        /** The company it belongs to. */
        company: string | null
        /** What it was done to. */
        object: string | null
        /** Address that the call came from. */
        ip: string | null
        /** The browser, as it names itself. */
        userAgent: string | null
        /** `X-Request-Id` of the call that caused it. */
        requestId: string | null
        /** More about it. */
        detail: {
        }
      }>
      /** Send it as `before` for the next page; null at the end. */
      nextBefore: string | null
    }
  }
  /** Checks, queues and nodes of this installation. Runs the checks of `comptoir doctor` again, which may take some seconds. */
  getOperatorStatus: {
    params: Record<never, never>
    data: {
      /** Every check passed. */
      ready: boolean
      /** What `comptoir doctor` looks at. */
      checks: Array<{
        /** Name for people. */
        name: string
        /** Passed. */
        ok: boolean
        /** What was found. */
        message: string
        /** What to do; null where nothing is wrong. */
        fix: string | null
      }>
      /** What waits for a worker or for a person. */
      queues: Array<{
        /** Name for people. */
        name: string
        /** How many wait. */
        waiting: number
        /** Since when the oldest waits; null: none does. */
        oldestAt: string | null
      }>
      /** Processes that are connected to the database. */
      nodes: Array<{
        /** Name for people. */
        name: string
        /** Where it connects from. */
        address: string
        /** Connections to the database. */
        connections: number
        /** When its oldest connection was opened. */
        since: string | null
      }>
    }
  }
  /** Prove that no entry of the audit log was changed or removed. Computes the whole chain again. A cut end shows only against an anchor: `comptoir audit verify --anchor`. */
  verifyAuditLog: {
    params: Record<never, never>
    data: {
      /** Entries that are as they were written. */
      entries: number
      /** The first fault; null: the log is whole. */
      fault: {
        /** The first entry that is not. */
        seq: string
        /** Why, in words; kept in the history. */
        reason: string
      } | null
    }
  }
  /** What the operator announces now, newest first. What has not ended and was not taken down. The back office shows it on every page. */
  listAnnouncements: {
    params: Record<never, never>
    data: Array<{
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** As it was written; shown as text. */
      text: string
      /** How loud it is. */
      tone: "info" | "warn"
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it disappears by itself; null: it stays until it is taken down. */
      endsAt: string | null
    }>
  }
  /** Announce something to everybody in the back office. Everybody who works in the back office sees it within a minute, as plain text. */
  createAnnouncement: {
    params: {
      body: {
        /** Plain text. */
        text: string
        /** How loud it is. */
        tone?: "info" | "warn"
        /** When it disappears by itself. */
        endsAt?: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** As it was written; shown as text. */
      text: string
      /** How loud it is. */
      tone: "info" | "warn"
      /** When it was created. UTC, with milliseconds. */
      createdAt: string
      /** When it disappears by itself; null: it stays until it is taken down. */
      endsAt: string | null
    }
  }
  /** Take an announcement down. It is no longer shown. The audit log keeps what it said. */
  deleteAnnouncement: {
    params: {
      /** Identifier: 24 hex characters. */
      id: string
    }
    data: null
  }
  /** Networks that are set up here. By name, for choosing where payouts go and for links to their explorers. */
  listNetworks: {
    params: Record<never, never>
    data: Array<{
      /** Chain id. */
      network: number
      /** The network’s name. */
      name: string
      /** Its money is worth nothing. */
      testnet: boolean
      /** Everything before `/tx/…`; null: none is known. */
      explorerUrl: string | null
    }>
  }
  /** Chains and their endpoints. Asks every endpoint, which may take some seconds. */
  listOperatorChains: {
    params: Record<never, never>
    data: {
      /** The chains that are set up. */
      chains: Array<{
        /** Chain id. */
        network: number
        /** The network’s name. */
        name: string
        /** Payments on it are seen soon; otherwise `crypto` on it is hidden from payers. */
        ok: boolean
        /** What was found. */
        message: string
        /** What to do; null where nothing is wrong. */
        fix: string | null
        /** The newest block that was read. */
        head: number | null
        /** When that block was mined. */
        blockAt: string | null
        /** Seconds without a new block, or the age of the newest one that was read. */
        lagSeconds: number | null
        /** Why it is not read: it is another chain, its endpoints contradict each other, or (`doubt`) what they say does not fit together. */
        trouble: "foreign" | "disagreement" | "doubt" | null
        /** The nodes that are asked, without their addresses. */
        endpoints: Array<{
          /** Its place in `CHAIN_<id>_RPC_URL`, from 1. */
          number: number
          /** How it answers now. `unproven`: it has not shown yet that its token is USDC, and is not used. */
          state: "ok" | "down" | "behind" | "foreign" | "outvoted" | "unproven"
          /** Its newest block; null: it did not answer. */
          head: number | null
          /** How long it took to answer. */
          answerMs: number | null
        }>
      }>
    }
  }
  /** Wallets that pay, and the limits of what may leave them. Levels are as of the last minute; the worker reads them. */
  listOperatorWallets: {
    params: Record<never, never>
    data: {
      /** The wallets that pay, chain by chain. */
      wallets: Array<{
        /** Chain id. */
        network: number
        /** The network’s name. */
        name: string
        /** Wallet address. */
        address: string
        /** `payout` pays refunds and settlements, `relayer` pays for gas. */
        wallet: "payout" | "relayer"
        /** What it holds. */
        asset: "USDC" | "native"
        /** What it holds, as of `checkedAt`; null: not read yet. */
        balance: string | null
        /** What leaves it on a day, by the last seven. */
        perDay: string | null
        /** For how many days it lasts at that pace; null while nothing leaves it. */
        runwayDays: number | null
        /** It runs low; the operator was warned by mail. */
        low: boolean
        /** The operator is warned below so much USDC, or below three days of payouts. */
        warnBelow: string | null
        /** When the chain was asked. */
        checkedAt: string | null
      }>
      /** What the settings allow to leave (`SETTLEMENT_…`). */
      limits: {
        /** So much USDC is settled in 24 hours at most; null: no limit. */
        dayLimit: string | null
        /** USDC settled in the last 24 hours. */
        released: string
        /** From so much USDC on, two persons approve a settlement; null: never. */
        twoPersonsFrom: string | null
        /** Settlements go to these addresses only; empty: to any. */
        allowList: Array<string>
      }
      /** The ceiling for gas, chain by chain. */
      gas: Array<{
        /** Chain id. */
        network: number
        /** The network’s name. */
        name: string
        /** Most that one gas may cost (`CHAIN_<id>_MAX_FEE_GWEI`). */
        maxGwei: string
        /** A higher ceiling for a while (`comptoir admin allow-fee`); null: none. */
        override: {
          /** The higher ceiling. */
          maxGwei: string
          /** When it ends. */
          until: string
          /** Who allowed it. */
          allowedBy: string
          /** Why. */
          reason: string
        } | null
      }>
    }
  }
  /** What a sweep would bring home. The plan of `comptoir sweep`; nothing is moved. */
  getSweepPlan: {
    params: Record<never, never>
    data: {
      /** Deposit addresses that can be emptied now, at most 1000 of a network. */
      deposits: Array<{
        /** Chain id. */
        network: number
        /** Wallet address. */
        address: string
        /** USDC. */
        amount: string
      }>
      /** Money that stays where it is. */
      held: Array<{
        /** Chain id. */
        network: number
        /** Wallet address. */
        address: string
        /** USDC. */
        amount: string
        /** Why it stays. */
        reason: string
      }>
      /** The plan, chain by chain. */
      networks: Array<{
        /** Chain id. */
        network: number
        /** The network’s name. */
        name: string
        /** Addresses to empty. */
        deposits: number
        /** USDC that comes home. */
        total: string
        /** What it costs at the current fee, in the chain’s native coin. */
        fee: string
        /** USDC that stays: moving it costs more than it is worth. */
        dust: string
      }>
      /** Networks that do not answer now. */
      silent: Array<string>
    }
  }
  /** Requests to the API of the last days, newest first. Every call by an API key, every change and every refusal of the last days, without bodies and queries. What a person’s page only reads is left out. */
  listRequests: {
    params: {
      /** Only this request. */
      requestId?: string
      /** Only refused and failed ones: status 400 and above. */
      failed?: boolean
      /** HTTP method. */
      method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
      /** `nextBefore` of the answer before. */
      before?: string
      /** How many at most. */
      limit?: number
      /** Operators: this company. */
      companyId?: string
    }
    data: {
      /** The requests, newest first. */
      requests: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** The `X-Request-Id` of the answer. */
        requestId: string
        /** When it was answered. */
        at: string
        /** HTTP method. */
        method: string
        /** Without the query. */
        path: string
        /** HTTP status of the answer. */
        status: number
        /** Why there was no answer; null when there was one. */
        errorCode: string | null
        /** Milliseconds until the answer. */
        durationMs: number
        /** Address that the call came from. */
        ip: string
        /** The browser, as it names itself. */
        userAgent: string | null
        /** `apiKey:<id>`, `user:<id>` or `payer:<code>`. */
        actor: string
        /** Of the API key or the person. */
        name: string | null
      }>
      /** Send it as `before` for the next page; null at the end. */
      nextBefore: string | null
    }
  }
  /** Set the logo that payers see. PNG, JPEG or WebP, at most 200 kB. It is drawn again and served from this service. */
  setCompanyLogo: {
    params: {
      /** 24 hex characters. */
      id: string
      body: {
        /** The picture in base64. Or send the file itself as the body, with its type in Content-Type. */
        image: string
      }
    }
    data: Company
  }
  /** Remove the logo. Payers see the name alone again. */
  removeCompanyLogo: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: Company
  }
  /** List companies you can access. Your company; for operators, all that they may see. */
  listCompanies: {
    params: {
      /** Text to look for. */
      search?: string
      /** Whether the operator approved the company. */
      approved?: boolean
      /** Whether it waits for approval: its manager has confirmed the e-mail address. */
      waiting?: boolean
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The companies. */
      companies: Array<Company>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** One company. A company with its settings. */
  getCompany: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: Company
  }
  /** Change a company. Changes only the fields you send; null clears a field. Changing the payout address, the refund limits or what only a SuperAdmin sets needs a fresh second factor. */
  changeCompany: {
    params: {
      /** 24 hex characters. */
      id: string
      body?: {
        /** Name for people. */
        name?: string
        /** ISO 3166-1 alpha-2. */
        country?: string | null
        /** 14 digits, France only; null when not given. */
        siret?: string | null
        /** With its prefix, EU, XI, GB or CHE; null when not given. */
        vatNumber?: string | null
        /** Where the company’s USDC is sent. */
        settlementAddress?: string | null
        /** Chain id of the settlement. */
        settlementNetwork?: number | null
        /** The name that payers read; null: the company’s name. */
        displayName?: string | null
        /** The company that payers buy from, as registered. */
        legalName?: string | null
        /** Colour of buttons on payers’ pages, made darker or lighter until it can be read. */
        brandColor?: string | null
        /** Where payers ask for help. */
        supportEmail?: string | null
        /** Where payers call for help. */
        supportPhone?: string | null
        /** Terms that payers’ pages link to. */
        termsUrl?: string | null
        /** Of mails to customers who have not chosen one on our pages; null: that of the company’s country. */
        customerLanguage?: "en" | "fr" | "de" | "es" | "it" | null
        /** Hours after the order’s end within which a late payment counts. */
        lateAcceptHours?: number
        /** Late payments of cancelled and failed orders: `accept` them within `lateAcceptHours`, or `hold` all. */
        lateAfterCancel?: "accept" | "hold"
        /** Hours after which a payer may no longer ask for a new quote; 0: never. */
        requoteHours?: number
        /** Minutes that the quote of a payment link holds; null: as long as the link. */
        linkQuoteMinutes?: number | null
        /** USDC that settlements leave for refunds. */
        settlementReserve?: string
        /** EUR that one order may be worth at most, whatever its currency. */
        maxOrderAmount?: string
        /** EUR from which the payer’s identity is needed. */
        identityThresholdAmount?: string
        /** How much of a payment may be missing, in hundredths of a percent. */
        toleranceBps?: number
        /** The most that may be missing, in millionths of a USDC. */
        toleranceMaxUnits?: string
        /** Whether refunds wait for the operator. */
        refundApproval?: boolean
        /** USDC above which a refund needs a person with a fresh second factor. */
        refundStepUpLimit?: string
        /** By role (SuperManager, Manager, Association, Service). The most that the role may refund without approval, at once and in any 24 hours: USDC, null for no limit. Null removes a role’s limits; roles that you leave out keep theirs. A SuperAdmin sets all limits, a SuperManager those of the other roles; both need a fresh second factor. */
        refundLimits?: Record<string, {
          /** The most that one refund may be, decimal text in USDC; null: no limit. */
          single?: string | null
          /** The most in any 24 hours, decimal text in USDC; null: no limit. */
          day?: string | null
        } | null>
        /** The operator’s fee, in hundredths of a percent. */
        feeBps?: number
        /** EUR from which the identity is checked; null: never. */
        kycThreshold?: string | null
        /** EUR that a checked payer may spend in 30 days; null: no limit. */
        kycLimit?: string | null
      }
    }
    data: Company
  }
  /** Approve a company, so that it can sell. The operator lets a company sell. */
  approveCompany: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: Company
  }
  /** List shops. The shops of your company. */
  listSalesPoints: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The shops of this page. */
      salesPoints: Array<SalesPoint>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Add a shop. A shop groups tills. A new company has one already. */
  createSalesPoint: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      body: {
        /** Name for people. */
        name: string
        /** City. */
        city?: string | null
        /** ISO 3166-1 alpha-2. */
        country?: string | null
        /** Street and number. */
        street?: string | null
        /** Postal code. */
        zipCode?: string | null
        /** Address of the logo. */
        logoUrl?: string | null
        /** Latitude in degrees. */
        lat?: number | null
        /** Longitude in degrees. */
        lng?: number | null
      }
    }
    data: SalesPoint
  }
  /** One shop. One shop. */
  getSalesPoint: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: SalesPoint
  }
  /** Change a shop. Changes only the fields you send; null clears a field. */
  changeSalesPoint: {
    params: {
      /** 24 hex characters. */
      id: string
      body?: {
        /** Name for people. */
        name?: string
        /** City. */
        city?: string | null
        /** ISO 3166-1 alpha-2. */
        country?: string | null
        /** Street and number. */
        street?: string | null
        /** Postal code. */
        zipCode?: string | null
        /** Address of the logo. */
        logoUrl?: string | null
        /** Latitude in degrees. */
        lat?: number | null
        /** Longitude in degrees. */
        lng?: number | null
      }
    }
    data: SalesPoint
  }
  /** List tills. The tills of your company, with filters by shop and state. */
  listCollectors: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
      /** The shop of the till. */
      salePoint?: string
      /** Whether it may be used. */
      active?: boolean
    }
    data: {
      /** The tills of this page. */
      collectors: Array<Collector>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** One till. One till. */
  getCollector: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: Collector
  }
  /** Rename, close or open a till, or assign cashiers. Changes the fields that are given. A closed till takes no new orders. */
  changeCollector: {
    params: {
      /** 24 hex characters. */
      id: string
      body?: {
        /** Its name in orders (`merchantIdentifier`); unique in the company. */
        identifier?: string
        /** Whether it may be used. */
        active?: boolean
        /** Users with the role Cashier; replaces the list. */
        cashiers?: Array<string>
        /** Receives the events of new orders that name no address. Null: none. Orders that exist keep theirs. */
        webhookUrl?: string | null
      }
    }
    data: Collector
  }
  /** Add a till to a shop. A till’s `identifier` is the `merchantIdentifier` of its orders. */
  addCollector: {
    params: {
      body: {
        /** Its name in orders (`merchantIdentifier`); unique in the company. */
        identifier: string
        /** 24 hex characters. */
        salePoint: string
        /** Your own id of the device. */
        uuid?: string
        /** Receives the events of its orders that name no address. */
        webhookUrl?: string
      }
    }
    data: Collector
  }
  /** Make a code that enrols a tablet or phone as a till. Makes a code that enrols one tablet or phone as a till. Type it at `/till` within ten minutes. Needs a fresh second factor. */
  createTillDevice: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      body: {
        /** For people. */
        name: string
        /** The till: its id, or its identifier in your company; operators name the company with an identifier. */
        collector: string
      }
    }
    data: {
      /** Internal identifier: 24 hex characters, in order of creation. */
      _id: string
      /** Name for people. */
      name: string
      /** Id of the till. */
      collector: string
      /** Typed on the device at `/till`. Works once, for ten minutes, and is never shown again. */
      enrolmentCode: string
      /** Until when the code works. */
      enrolmentExpiresAt: string
    }
  }
  /** List till devices. All devices that were ever enrolled, newest first, also revoked ones. */
  listTillDevices: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** Devices, newest first. */
      tillDevices: Array<TillDevice>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Revoke a till device and end its sessions. The device forgets who it is, and everyone who signed in there is signed out at once. */
  revokeTillDevice: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: null
  }
  /** Whether you have a till PIN. The PIN itself is never shown. */
  getTillPin: {
    params: Record<never, never>
    data: {
      /** Whether you have a PIN. */
      set: boolean
      /** When you set it. */
      changedAt: string | null
    }
  }
  /** Set your till PIN. Sets the PIN that you sign in with at tills, and unlocks you where five were wrong. */
  changeTillPin: {
    params: {
      body: {
        /** Six digits, not all equal and not in a row. */
        pin: string
      }
    }
    data: null
  }
  /** Enrol this browser as a till. Exchanges the code for a cookie that makes this browser a till. Works once. */
  enrolTillDevice: {
    params: {
      body: {
        /** The code of `POST /till-devices`. */
        enrolmentCode: string
      }
    }
    data: {
      /** This browser. */
      device: {
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** Name for people. */
        name: string
      }
      /** The till that the device is. */
      collector: {
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** The `merchantIdentifier`. */
        identifier: string
      }
      /** The company’s name. */
      company: string
      /** The sales point’s name. */
      place: string
      /** What can be charged, the country’s own first. */
      currencies: Array<string>
      /** Who may sign in here. */
      people: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** First name and initial. */
        name: string
        /** Whether the person has set a PIN. */
        hasPin: boolean
        /** Five wrong PINs: locked on this device until a new PIN is set. */
        locked: boolean
      }>
    }
  }
  /** Which till this browser is, and who may sign in. Read with the device’s cookie. */
  getTill: {
    params: Record<never, never>
    data: {
      /** This browser. */
      device: {
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** Name for people. */
        name: string
      }
      /** The till that the device is. */
      collector: {
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** The `merchantIdentifier`. */
        identifier: string
      }
      /** The company’s name. */
      company: string
      /** The sales point’s name. */
      place: string
      /** What can be charged, the country’s own first. */
      currencies: Array<string>
      /** Who may sign in here. */
      people: Array<{
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** First name and initial. */
        name: string
        /** Whether the person has set a PIN. */
        hasPin: boolean
        /** Five wrong PINs: locked on this device until a new PIN is set. */
        locked: boolean
      }>
    }
  }
  /** Sign in at the till with a PIN. Answers an access token that is good for this till alone, and sets the refresh cookie of this person (`x-user-id`). A manager signs in as a cashier. Five wrong PINs lock the person on this device. */
  signInAtTill: {
    params: {
      body: {
        /** Id of one of the till’s people. */
        user: string
        /** The person’s PIN. */
        pin: string
      }
    }
    data: {
      /** Access token, valid for ten minutes; renewed with `POST /auth/refresh-token`. */
      token: string
      /** Who signed in. */
      user: {
        /** Internal identifier: 24 hex characters, in order of creation. */
        _id: string
        /** First name and initial. */
        name: string
      }
    }
  }
  /** What you sold since you signed in. Counts what this person sold at this till since the sign-in, by currency. */
  getTillShift: {
    params: Record<never, never>
    data: {
      /** When you signed in; a PIN typed again without a sign-out begins no new shift. */
      startedAt: string
      /** Orders you made. */
      created: number
      /** Those that wait for their payment. */
      open: number
      /** Those that ended unpaid. */
      ended: number
      /** What was paid, by currency. */
      sums: Array<{
        /** The currency. */
        asset: string
        /** Orders paid in it. */
        paid: number
        /** Decimal text with the currency’s digits. */
        amount: string
        /** What was paid for them, in USDC. */
        received: string
      }>
    }
  }
  /** What the customer’s screen of this till shows. The newest order of the till, for a second screen. Read with the device’s cookie. */
  getTillDisplay: {
    params: Record<never, never>
    data: {
      /** The newest order of the till; null when it has no order to show. */
      order: {
        /** For the QR code at `/till/qr`. */
        code: string
        /** Decimal text with the currency’s digits. */
        amount: string
        /** The currency. */
        asset: string
        /** In USDC. */
        toAmount: string
        /** The order’s state. */
        status: string
      } | null
    }
  }
  /** List buy buttons. The buy buttons of your company. */
  listBuyButtons: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The buy buttons of this page. */
      buyButtons: Array<BuyButton>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Add a buy button. A buy button sells at a fixed price on one website. */
  createBuyButton: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      body: {
        /** Name for people. */
        name: string
        /** The shop’s website. */
        websiteUrl: string
        /** A number or decimal text. */
        price: number | string
        /** Fiat currency of the price. */
        currency: string
        /** Your reference of the item. */
        itemRef?: string
        /** Receives the events of orders made through it. */
        callbackUrl?: string
        /** Whether the page that shows the button may name another price. Off by default: anyone can change a page’s address, so the shop must then compare `fromAmount` before it delivers. */
        pagePrice?: boolean
      }
    }
    data: BuyButton
  }
  /** One buy button. One buy button. */
  getBuyButton: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: BuyButton
  }
  /** Change a buy button. Changes only the fields you send. */
  changeBuyButton: {
    params: {
      /** 24 hex characters. */
      id: string
      body?: {
        /** Name for people. */
        name?: string
        /** The shop’s website. */
        websiteUrl?: string
        /** A number or decimal text. */
        price?: number | string
        /** Fiat currency of the price. */
        currency?: string
        /** Your reference of the item. */
        itemRef?: string
        /** Receives the events of orders made through it. */
        callbackUrl?: string
        /** Whether the page that shows the button may name another price. Off by default: anyone can change a page’s address, so the shop must then compare `fromAmount` before it delivers. */
        pagePrice?: boolean
      }
    }
    data: BuyButton
  }
  /** Remove a buy button and end its sessions. Removes the button. Its open sessions end. */
  deleteBuyButton: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: null
  }
  /** List static links. The static links of your company, newest first, and what each brought. */
  listStaticLinks: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      /** Number of the page, from 1. */
      page?: number
      /** How many at most. */
      limit?: number
    }
    data: {
      /** The links of this page. */
      staticLinks: Array<StaticLink>
      /** How many there are on all pages. */
      total: number
      /** Number of the page, from 1. */
      page: number
      /** How many at most. */
      limit: number
    }
  }
  /** Add a static link. An address to print or send that makes a new order for each payment: a donation, a table in a café, the code at a till. Each order costs `amount`, or what the payer types within the limits. */
  createStaticLink: {
    params: {
      /** For operators: the company. */
      companyId?: string
      /** For operators: the company, by the id or e-mail of one of its managers. */
      childManager?: string
      body: {
        /** What the payer reads: “Table 4”, “Donation”. */
        name: string
        /** The till that the orders of this link belong to: its identifier or its id. */
        merchantIdentifier: string
        /** Fiat currency of the price. */
        currency: string
        /** What each order costs. Absent or null: the payer types the amount. */
        amount?: string | null
        /** The least that the payer may type. */
        minAmount?: string | null
        /** The most that the payer may type. Null: the largest order of the company. */
        maxAmount?: string | null
        /** Receives the events of each order. Null: the address of the till does. */
        webhookUrl?: string | null
        /** Where the payer goes after paying. */
        returnUrl?: string | null
      }
    }
    data: StaticLink
  }
  /** One static link. One static link, and what it brought. */
  getStaticLink: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: StaticLink
  }
  /** Change a static link, or turn it off. Changes only the fields you send; null clears a field. */
  changeStaticLink: {
    params: {
      /** 24 hex characters. */
      id: string
      body?: {
        /** What the payer reads: “Table 4”, “Donation”. */
        name?: string
        /** The till that the orders of this link belong to: its identifier or its id. */
        merchantIdentifier?: string
        /** Whether it may be used. */
        active?: boolean
        /** What each order costs. Absent or null: the payer types the amount. */
        amount?: string | null
        /** The least that the payer may type. */
        minAmount?: string | null
        /** The most that the payer may type. Null: the largest order of the company. */
        maxAmount?: string | null
        /** Receives the events of each order. Null: the address of the till does. */
        webhookUrl?: string | null
        /** Where the payer goes after paying. */
        returnUrl?: string | null
      }
    }
    data: StaticLink
  }
  /** Start a session for one buyer. One buyer’s way through a button. Its id is the `sessionId` of the order. */
  createBuyButtonSession: {
    params: {
      body: {
        /** 24 hex characters. */
        button: string
        /** Your reference; unique among live sessions. */
        orderRef: string
        /** A number or decimal text. */
        price?: number | string
        /** Fiat currency of the price. */
        currency?: string
        /** Text on the button. */
        buttonName?: string
        /** Receives the events of orders made through it. */
        callbackUrl?: string
        /** Where the payer goes after cancelling. */
        cancelUrl?: string
        /** Where the payer goes after paying. */
        returnUrl?: string
      }
    }
    data: BuyButtonSession
  }
  /** One session. One session, and the order made through it. */
  getBuyButtonSession: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: BuyButtonSession
  }
  /** End a session and cancel its open order. Ends the session. The shop’s call also cancels its open order, and answers 409 where money has come already or the order is under review. The buyer’s page may end it with the token that the landing page gave it; its order then stays as it is. */
  endBuyButtonSession: {
    params: {
      /** 24 hex characters. */
      id: string
    }
    data: null
  }
  /** One session by its code. The session that an order was made through. */
  getBuyButtonSessionByCode: {
    params: {
      /** Order code: unguessable, used in paths. */
      code: string
    }
    data: BuyButtonSession
  }
  /** The secret that signs your webhooks. The secret that signs the webhooks of your account. Keep it on your server. */
  getWebhookSecret: {
    params: {
      /** Operators: this company only. */
      companyId?: string
    }
    data: {
      /** `whsec_…` */
      webhookSigningSecret: string
    }
  }
  /** Replace the signing secret; the old one stops working at once, also for retries. Makes a new secret. The old one stops working at once, also for retries. */
  regenerateWebhookSecret: {
    params: {
      /** Operators: this company only. */
      companyId?: string
    }
    data: {
      /** `whsec_…` */
      webhookSigningSecret: string
    }
  }
  /** Prepare the next signing secret without using it. Makes the next secret and signs nothing with it yet, so that your server can learn it first. */
  prepareWebhookSecret: {
    params: {
      /** Operators: this company only. */
      companyId?: string
    }
    data: {
      /** `whsec_…` */
      webhookSigningSecret: string
    }
  }
  /** Send a test webhook that the prepared secret signs. Sends one test webhook, signed by the prepared secret, to an address you name. */
  testWebhookSecret: {
    params: {
      body: {
        /** The receiver; checked like a webhookUrl. */
        url: string
        /** Operators: this company only. */
        companyId?: string
      }
    }
    data: {
      /** Whether the server answered 2xx. */
      delivered: boolean
      /** HTTP status of the answer; null when there was none. */
      statusCode: number | null
      /** Why there was no answer; null when there was one. */
      errorCode: string | null
      /** Milliseconds until the answer. */
      durationMs: number
    }
  }
  /** Activate the prepared secret; the old one stops working at once. Signs with the prepared secret from now on. */
  activateWebhookSecret: {
    params: {
      /** Operators: this company only. */
      companyId?: string
      body?: {
        /** The last characters of the secret that you prepared: 409 if another one is prepared by now. */
        endsWith?: string
      }
    }
    data: null
  }
}

/** How each operation is called. */
export const OPERATIONS = {
  createOrder: { method: 'POST', path: '/api/next/confirm_conversion/request', query: ['companyId', 'soldBy'], keyed: true, json: true },
  getOrderByCode: { method: 'GET', path: '/api/next/confirm_conversion/status/{code}', query: [], keyed: false, json: true },
  getOrderByReference: { method: 'GET', path: '/api/next/confirm_conversion/status/order/{reference}', query: ['companyId'], keyed: false, json: true },
  cancelOrder: { method: 'POST', path: '/api/next/confirm_conversion/cancel/{code}', query: [], keyed: true, json: true },
  expireOrder: { method: 'POST', path: '/api/next/confirm_conversion/expire/{code}', query: [], keyed: true, json: true },
  listOrders: { method: 'GET', path: '/api/next/confirm_conversion', query: ['status', 'search', 'managerEmail', 'companyId', 'from', 'to', 'paymentChannel', 'merchantIdentifier', 'page', 'limit', 'sort', 'cursor'], keyed: false, json: true },
  listPaymentLinks: { method: 'GET', path: '/api/next/confirm_conversion/links', query: ['status', 'search', 'managerEmail', 'companyId', 'from', 'to', 'paymentChannel', 'merchantIdentifier', 'limit', 'cursor'], keyed: false, json: true },
  getOrderStory: { method: 'GET', path: '/api/next/confirm_conversion/story/{code}', query: [], keyed: false, json: true },
  downloadOrders: { method: 'GET', path: '/api/next/confirm_conversion/download', query: ['status', 'search', 'managerEmail', 'companyId', 'from', 'to', 'paymentChannel', 'merchantIdentifier', 'format', 'headers', 'bom', 'after', 'sort'], keyed: false, json: false },
  acceptOrder: { method: 'POST', path: '/api/next/confirm_conversion/accept/{code}', query: [], keyed: true, json: true },
  confirmOrder: { method: 'POST', path: '/api/next/confirm_conversion/confirm/{code}', query: [], keyed: true, json: true },
  nameTransaction: { method: 'POST', path: '/api/next/confirm_conversion/transaction/{code}', query: [], keyed: true, json: true },
  savePayerInformation: { method: 'POST', path: '/api/next/confirm_conversion/payer-information', query: [], keyed: true, json: true },
  setPayerEmail: { method: 'POST', path: '/api/next/confirm_conversion/email/{code}', query: [], keyed: true, json: true },
  getPayerInformation: { method: 'GET', path: '/api/next/confirm_conversion/payer-information/{code}', query: [], keyed: false, json: true },
  erasePayerInformation: { method: 'DELETE', path: '/api/next/confirm_conversion/payer-information/{code}', query: [], keyed: false, json: true },
  findPayerOrders: { method: 'POST', path: '/api/next/confirm_conversion/search', query: [], keyed: true, json: true },
  sendOrderLink: { method: 'POST', path: '/api/next/confirm_conversion/send/{code}', query: [], keyed: true, json: true },
  listOrderNotes: { method: 'GET', path: '/api/next/confirm_conversion/notes/{code}', query: [], keyed: false, json: true },
  addOrderNote: { method: 'POST', path: '/api/next/confirm_conversion/notes/{code}', query: [], keyed: true, json: true },
  removeOrderNote: { method: 'DELETE', path: '/api/next/confirm_conversion/notes/{code}/{id}', query: [], keyed: false, json: true },
  getRefundable: { method: 'GET', path: '/api/next/confirm_conversion/revert/{code}', query: [], keyed: false, json: true },
  revertOrder: { method: 'POST', path: '/api/next/confirm_conversion/revert/{code}', query: [], keyed: true, json: true },
  getExchangeInfo: { method: 'GET', path: '/api/next/confirm_conversion/exchangeInfo', query: ['fromAsset', 'toAsset'], keyed: false, json: true },
  listRefunds: { method: 'GET', path: '/api/next/refunds', query: ['companyId', 'code', 'status', 'page', 'limit'], keyed: false, json: true },
  getRefund: { method: 'GET', path: '/api/next/refunds/{id}', query: [], keyed: false, json: true },
  getRefundAddressMessage: { method: 'GET', path: '/api/next/refunds/address-message', query: ['code', 'address', 'amount', 'mispaymentId'], keyed: false, json: true },
  approveRefund: { method: 'POST', path: '/api/next/refunds/{id}/approve', query: [], keyed: true, json: true },
  rejectRefund: { method: 'POST', path: '/api/next/refunds/{id}/reject', query: [], keyed: true, json: true },
  setRefundAddress: { method: 'POST', path: '/api/next/refunds/{id}/address', query: [], keyed: true, json: true },
  getMispaymentRefund: { method: 'GET', path: '/api/next/mispayments/{id}/refund', query: [], keyed: false, json: true },
  refundMispayment: { method: 'POST', path: '/api/next/mispayments/{id}/refund', query: [], keyed: true, json: true },
  settleRefund: { method: 'POST', path: '/api/next/refunds/{id}/settle', query: [], keyed: true, json: true },
  addRefundProof: { method: 'POST', path: '/api/next/refunds/{id}/proof', query: [], keyed: true, json: true },
  downloadRefundProof: { method: 'GET', path: '/api/next/refunds/{id}/proof', query: [], keyed: false, json: false },
  reportRefundTransaction: { method: 'POST', path: '/api/next/refunds/{id}/transaction', query: [], keyed: true, json: true },
  recordRefund: { method: 'POST', path: '/api/next/ledger/differences/{id}/refunded', query: [], keyed: true, json: true },
  listMispayments: { method: 'GET', path: '/api/next/mispayments', query: ['companyId', 'status', 'kind', 'code', 'page', 'limit'], keyed: false, json: true },
  acceptMispayment: { method: 'POST', path: '/api/next/mispayments/{id}/accept', query: [], keyed: true, json: true },
  ignoreMispayment: { method: 'POST', path: '/api/next/mispayments/{id}/ignore', query: [], keyed: true, json: true },
  bearLoss: { method: 'POST', path: '/api/next/mispayments/{id}/bear', query: [], keyed: true, json: true },
  listUnmatchedTransfers: { method: 'GET', path: '/api/next/unmatched-transfers', query: ['companyId', 'status', 'dust', 'page', 'limit'], keyed: false, json: true },
  matchTransfer: { method: 'POST', path: '/api/next/unmatched-transfers/{id}/match', query: [], keyed: true, json: true },
  ignoreTransfer: { method: 'POST', path: '/api/next/unmatched-transfers/{id}/ignore', query: [], keyed: true, json: true },
  listChannelRules: { method: 'GET', path: '/api/next/channel-rules', query: ['companyId', 'childManager'], keyed: false, json: true },
  sortChannels: { method: 'PUT', path: '/api/next/channel-rules', query: ['companyId', 'childManager'], keyed: false, json: true },
  changeChannelRule: { method: 'PUT', path: '/api/next/channel-rules/{channel}', query: ['companyId', 'childManager'], keyed: false, json: true },
  listChannels: { method: 'GET', path: '/api/next/channels', query: ['code', 'amount', 'fromAsset', 'companyId', 'childManager'], keyed: false, json: true },
  listChannelNames: { method: 'GET', path: '/api/next/channel-names', query: [], keyed: false, json: true },
  listChannelAccounts: { method: 'GET', path: '/api/next/channel-accounts', query: ['companyId', 'childManager'], keyed: false, json: true },
  saveChannelAccount: { method: 'PUT', path: '/api/next/channel-accounts/{channel}', query: ['companyId', 'childManager', 'force'], keyed: false, json: true },
  removeChannelAccount: { method: 'DELETE', path: '/api/next/channel-accounts/{channel}', query: ['companyId', 'childManager', 'force'], keyed: false, json: true },
  checkChannelAccount: { method: 'POST', path: '/api/next/channel-accounts/{channel}/check', query: ['companyId', 'childManager'], keyed: true, json: true },
  listChannelExchanges: { method: 'GET', path: '/api/next/channel-exchanges/{code}', query: [], keyed: false, json: true },
  receiveCallback: { method: 'POST', path: '/api/next/channels/{channel}/callback', query: [], keyed: false, json: false },
  receiveCompanyCallback: { method: 'POST', path: '/api/next/channels/{channel}/callback/{companyId}', query: [], keyed: false, json: false },
  listKyc: { method: 'GET', path: '/api/next/kyc', query: ['companyId', 'childManager', 'page', 'limit', 'status'], keyed: false, json: true },
  startKyc: { method: 'POST', path: '/api/next/kyc', query: [], keyed: true, json: true },
  getKyc: { method: 'GET', path: '/api/next/kyc/{id}', query: [], keyed: false, json: true },
  approveKyc: { method: 'POST', path: '/api/next/kyc/{id}/approve', query: [], keyed: true, json: true },
  refuseKyc: { method: 'POST', path: '/api/next/kyc/{id}/refuse', query: [], keyed: true, json: true },
  requestEdd: { method: 'POST', path: '/api/next/kyc/{id}/edd', query: [], keyed: true, json: true },
  completeEdd: { method: 'POST', path: '/api/next/kyc/{id}/edd/complete', query: [], keyed: true, json: true },
  takeSumsubCallback: { method: 'POST', path: '/api/next/kyc/sumsub/callback', query: [], keyed: false, json: true },
  listScreenings: { method: 'GET', path: '/api/next/screenings', query: ['companyId', 'childManager', 'page', 'limit', 'status', 'purpose', 'code'], keyed: false, json: true },
  getScreening: { method: 'GET', path: '/api/next/screenings/{id}', query: [], keyed: false, json: true },
  releaseScreening: { method: 'POST', path: '/api/next/screenings/{id}/release', query: [], keyed: true, json: true },
  returnScreening: { method: 'POST', path: '/api/next/screenings/{id}/return', query: [], keyed: true, json: true },
  listEvents: { method: 'GET', path: '/api/next/events', query: ['after', 'limit', 'companyId'], keyed: false, json: true },
  listLatestEvents: { method: 'GET', path: '/api/next/events/latest', query: ['before', 'event', 'limit', 'companyId'], keyed: false, json: true },
  getSummary: { method: 'GET', path: '/api/next/summary', query: ['days', 'timeZone', 'companyId'], keyed: false, json: true },
  listWebhookDeliveries: { method: 'GET', path: '/api/next/webhook-deliveries', query: ['event', 'status', 'code', 'url', 'from', 'to', 'companyId', 'page', 'limit'], keyed: false, json: true },
  getWebhookDelivery: { method: 'GET', path: '/api/next/webhook-deliveries/{id}', query: [], keyed: false, json: true },
  getWebhookDeliveryAsCurl: { method: 'GET', path: '/api/next/webhook-deliveries/{id}/curl', query: [], keyed: false, json: false },
  redeliverWebhook: { method: 'POST', path: '/api/next/webhook-deliveries/{id}/redeliver', query: [], keyed: true, json: true },
  redeliverWebhooks: { method: 'POST', path: '/api/next/webhook-deliveries/redeliver', query: ['event', 'status', 'code', 'url', 'from', 'to', 'companyId', 'limit'], keyed: true, json: true },
  listWebhookAddresses: { method: 'GET', path: '/api/next/webhook-addresses', query: ['days', 'companyId'], keyed: false, json: true },
  sendTestWebhook: { method: 'POST', path: '/api/next/webhook-deliveries/test', query: [], keyed: true, json: true },
  getWebhookSubscriptions: { method: 'GET', path: '/api/next/webhook-subscriptions', query: ['companyId'], keyed: false, json: true },
  changeWebhookSubscriptions: { method: 'PUT', path: '/api/next/webhook-subscriptions', query: ['companyId'], keyed: false, json: true },
  register: { method: 'POST', path: '/api/next/auth/register', query: ['lang'], keyed: 'withCredential', json: true },
  loginManager: { method: 'POST', path: '/api/next/auth/login/manager', query: [], keyed: false, json: true },
  login: { method: 'POST', path: '/api/next/auth/login', query: [], keyed: false, json: true },
  validateOtp: { method: 'POST', path: '/api/next/auth/otp', query: ['stepUp'], keyed: false, json: true },
  sendEmailOtp: { method: 'POST', path: '/api/next/auth/otp/email', query: ['stepUp'], keyed: false, json: true },
  sendVerification: { method: 'POST', path: '/api/next/auth/verify-email/send', query: [], keyed: true, json: true },
  refreshToken: { method: 'POST', path: '/api/next/auth/refresh-token', query: [], keyed: false, json: true },
  signOut: { method: 'POST', path: '/api/next/auth/sign-out', query: [], keyed: false, json: true },
  listSessions: { method: 'GET', path: '/api/next/auth/sessions', query: [], keyed: false, json: true },
  revokeSession: { method: 'DELETE', path: '/api/next/auth/sessions/{id}', query: [], keyed: false, json: true },
  revokeOtherSessions: { method: 'POST', path: '/api/next/auth/sessions/revoke-others', query: [], keyed: true, json: true },
  listPasskeys: { method: 'GET', path: '/api/next/auth/passkeys', query: [], keyed: false, json: true },
  addPasskey: { method: 'POST', path: '/api/next/auth/passkeys', query: [], keyed: true, json: true },
  beginPasskey: { method: 'POST', path: '/api/next/auth/passkeys/options', query: [], keyed: true, json: true },
  removePasskey: { method: 'DELETE', path: '/api/next/auth/passkeys/{id}', query: [], keyed: false, json: true },
  beginPasskeyProof: { method: 'POST', path: '/api/next/auth/passkey/options', query: ['stepUp'], keyed: false, json: true },
  sendPasswordReset: { method: 'POST', path: '/api/next/auth/reset-password/send', query: ['lang'], keyed: false, json: true },
  changeForgottenPassword: { method: 'POST', path: '/api/next/auth/reset-password/change', query: [], keyed: 'withCredential', json: true },
  changePassword: { method: 'POST', path: '/api/next/auth/password', query: [], keyed: true, json: true },
  verifyEmail: { method: 'POST', path: '/api/next/auth/verify-email', query: [], keyed: false, json: true },
  setupTwoFactor: { method: 'POST', path: '/api/next/auth/2fa/setup', query: [], keyed: true, json: true },
  enableTwoFactor: { method: 'POST', path: '/api/next/auth/2fa/enable', query: [], keyed: true, json: true },
  renewRecoveryCodes: { method: 'POST', path: '/api/next/auth/2fa/recovery-codes', query: [], keyed: true, json: true },
  disableTwoFactor: { method: 'POST', path: '/api/next/auth/2fa/disable', query: [], keyed: true, json: true },
  getMe: { method: 'GET', path: '/api/next/users/me', query: [], keyed: false, json: true },
  changeMe: { method: 'PUT', path: '/api/next/users/me', query: [], keyed: false, json: true },
  listMyPermissions: { method: 'GET', path: '/api/next/users/me/permissions', query: [], keyed: false, json: true },
  listUsers: { method: 'GET', path: '/api/next/users', query: ['companyId', 'role', 'search', 'pending', 'page', 'limit'], keyed: false, json: true },
  inviteUser: { method: 'POST', path: '/api/next/users', query: [], keyed: true, json: true },
  getUser: { method: 'GET', path: '/api/next/users/{id}', query: [], keyed: false, json: true },
  changeUser: { method: 'PUT', path: '/api/next/users/{id}', query: [], keyed: false, json: true },
  approveUser: { method: 'POST', path: '/api/next/users/{id}/approve', query: [], keyed: true, json: true },
  listCompaniesOfUser: { method: 'GET', path: '/api/next/users/{id}/companies', query: [], keyed: false, json: true },
  attachCompanies: { method: 'PUT', path: '/api/next/users/{id}/companies', query: [], keyed: false, json: true },
  resetTwoFactorOfUser: { method: 'POST', path: '/api/next/users/{id}/reset-2fa', query: [], keyed: true, json: true },
  listApiKeys: { method: 'GET', path: '/api/next/api-keys', query: ['companyId', 'childManager', 'page', 'limit'], keyed: false, json: true },
  createApiKey: { method: 'POST', path: '/api/next/api-keys', query: ['companyId', 'childManager'], keyed: true, json: true },
  revokeOwnApiKey: { method: 'POST', path: '/api/next/api-keys/revoke', query: [], keyed: false, json: true },
  revokeApiKey: { method: 'DELETE', path: '/api/next/api-keys/{id}', query: [], keyed: false, json: true },
  startDeviceLogin: { method: 'POST', path: '/api/next/auth/device', query: [], keyed: false, json: true },
  claimDeviceLogin: { method: 'POST', path: '/api/next/auth/device/token', query: [], keyed: false, json: true },
  getDeviceLogin: { method: 'GET', path: '/api/next/auth/device/{userCode}', query: [], keyed: false, json: true },
  approveDeviceLogin: { method: 'POST', path: '/api/next/auth/device/{userCode}/approve', query: ['companyId', 'childManager'], keyed: true, json: true },
  denyDeviceLogin: { method: 'POST', path: '/api/next/auth/device/{userCode}/deny', query: [], keyed: true, json: true },
  listSettlements: { method: 'GET', path: '/api/next/settlements', query: ['companyId', 'status', 'page', 'limit'], keyed: false, json: true },
  createSettlement: { method: 'POST', path: '/api/next/settlements', query: [], keyed: true, json: true },
  getSettlement: { method: 'GET', path: '/api/next/settlements/{id}', query: [], keyed: false, json: true },
  readSettlementStatement: { method: 'GET', path: '/api/next/settlements/{id}/statement', query: ['after', 'limit', 'format'], keyed: false, json: true },
  approveSettlement: { method: 'POST', path: '/api/next/settlements/{id}/approve', query: [], keyed: true, json: true },
  reportSettlementPaid: { method: 'POST', path: '/api/next/settlements/{id}/paid', query: [], keyed: true, json: true },
  cancelSettlement: { method: 'POST', path: '/api/next/settlements/{id}/cancel', query: [], keyed: true, json: true },
  listDifferences: { method: 'GET', path: '/api/next/ledger/differences', query: ['companyId', 'status', 'page', 'limit'], keyed: false, json: true },
  explainDifference: { method: 'POST', path: '/api/next/ledger/differences/{id}/explain', query: [], keyed: true, json: true },
  getBooksCheck: { method: 'GET', path: '/api/next/ledger/check', query: ['companyId'], keyed: false, json: true },
  listFees: { method: 'GET', path: '/api/next/ledger/fees', query: ['companyId', 'months', 'timeZone'], keyed: false, json: true },
  readLedger: { method: 'GET', path: '/api/next/ledger', query: ['companyId', 'from', 'to', 'final', 'after', 'limit', 'format'], keyed: false, json: true },
  listAuditLog: { method: 'GET', path: '/api/next/audit-log', query: ['companyId', 'action', 'actor', 'object', 'before', 'limit'], keyed: false, json: true },
  getOperatorStatus: { method: 'GET', path: '/api/next/operator/status', query: [], keyed: false, json: true },
  verifyAuditLog: { method: 'POST', path: '/api/next/audit-log/verify', query: [], keyed: true, json: true },
  listAnnouncements: { method: 'GET', path: '/api/next/announcements', query: [], keyed: false, json: true },
  createAnnouncement: { method: 'POST', path: '/api/next/announcements', query: [], keyed: true, json: true },
  deleteAnnouncement: { method: 'DELETE', path: '/api/next/announcements/{id}', query: [], keyed: false, json: true },
  listNetworks: { method: 'GET', path: '/api/next/networks', query: [], keyed: false, json: true },
  listOperatorChains: { method: 'GET', path: '/api/next/operator/chains', query: [], keyed: false, json: true },
  listOperatorWallets: { method: 'GET', path: '/api/next/operator/wallets', query: [], keyed: false, json: true },
  getSweepPlan: { method: 'GET', path: '/api/next/operator/sweep-plan', query: [], keyed: false, json: true },
  listRequests: { method: 'GET', path: '/api/next/request-log', query: ['requestId', 'failed', 'method', 'before', 'limit', 'companyId'], keyed: false, json: true },
  setCompanyLogo: { method: 'PUT', path: '/api/next/companies/{id}/logo', query: [], keyed: false, json: true },
  removeCompanyLogo: { method: 'DELETE', path: '/api/next/companies/{id}/logo', query: [], keyed: false, json: true },
  listCompanies: { method: 'GET', path: '/api/next/companies', query: ['search', 'approved', 'waiting', 'page', 'limit'], keyed: false, json: true },
  getCompany: { method: 'GET', path: '/api/next/companies/{id}', query: [], keyed: false, json: true },
  changeCompany: { method: 'PUT', path: '/api/next/companies/{id}', query: [], keyed: false, json: true },
  approveCompany: { method: 'POST', path: '/api/next/companies/{id}/approve', query: [], keyed: true, json: true },
  listSalesPoints: { method: 'GET', path: '/api/next/sales-points', query: ['companyId', 'childManager', 'page', 'limit'], keyed: false, json: true },
  createSalesPoint: { method: 'POST', path: '/api/next/sales-points', query: ['companyId', 'childManager'], keyed: true, json: true },
  getSalesPoint: { method: 'GET', path: '/api/next/sales-points/{id}', query: [], keyed: false, json: true },
  changeSalesPoint: { method: 'PUT', path: '/api/next/sales-points/{id}', query: [], keyed: false, json: true },
  listCollectors: { method: 'GET', path: '/api/next/collectors/list', query: ['companyId', 'childManager', 'page', 'limit', 'salePoint', 'active'], keyed: false, json: true },
  getCollector: { method: 'GET', path: '/api/next/collectors/{id}', query: [], keyed: false, json: true },
  changeCollector: { method: 'PUT', path: '/api/next/collectors/{id}', query: [], keyed: false, json: true },
  addCollector: { method: 'POST', path: '/api/next/collectors/add', query: [], keyed: true, json: true },
  createTillDevice: { method: 'POST', path: '/api/next/till-devices', query: ['companyId', 'childManager'], keyed: true, json: true },
  listTillDevices: { method: 'GET', path: '/api/next/till-devices', query: ['companyId', 'childManager', 'page', 'limit'], keyed: false, json: true },
  revokeTillDevice: { method: 'DELETE', path: '/api/next/till-devices/{id}', query: [], keyed: false, json: true },
  getTillPin: { method: 'GET', path: '/api/next/users/me/till-pin', query: [], keyed: false, json: true },
  changeTillPin: { method: 'PUT', path: '/api/next/users/me/till-pin', query: [], keyed: false, json: true },
  enrolTillDevice: { method: 'POST', path: '/api/next/till/enrol', query: [], keyed: false, json: true },
  getTill: { method: 'GET', path: '/api/next/till/device', query: [], keyed: false, json: true },
  signInAtTill: { method: 'POST', path: '/api/next/till/sign-in', query: [], keyed: false, json: true },
  getTillShift: { method: 'GET', path: '/api/next/till/shift', query: [], keyed: false, json: true },
  getTillDisplay: { method: 'GET', path: '/api/next/till/display', query: [], keyed: false, json: true },
  listBuyButtons: { method: 'GET', path: '/api/next/buy-buttons', query: ['companyId', 'childManager', 'page', 'limit'], keyed: false, json: true },
  createBuyButton: { method: 'POST', path: '/api/next/buy-buttons', query: ['companyId', 'childManager'], keyed: true, json: true },
  getBuyButton: { method: 'GET', path: '/api/next/buy-buttons/{id}', query: [], keyed: false, json: true },
  changeBuyButton: { method: 'PUT', path: '/api/next/buy-buttons/{id}', query: [], keyed: false, json: true },
  deleteBuyButton: { method: 'DELETE', path: '/api/next/buy-buttons/{id}', query: [], keyed: false, json: true },
  listStaticLinks: { method: 'GET', path: '/api/next/static-links', query: ['companyId', 'childManager', 'page', 'limit'], keyed: false, json: true },
  createStaticLink: { method: 'POST', path: '/api/next/static-links', query: ['companyId', 'childManager'], keyed: true, json: true },
  getStaticLink: { method: 'GET', path: '/api/next/static-links/{id}', query: [], keyed: false, json: true },
  changeStaticLink: { method: 'PUT', path: '/api/next/static-links/{id}', query: [], keyed: false, json: true },
  createBuyButtonSession: { method: 'POST', path: '/api/next/buy-button/sessions', query: [], keyed: true, json: true },
  getBuyButtonSession: { method: 'GET', path: '/api/next/buy-button/sessions/{id}', query: [], keyed: false, json: true },
  endBuyButtonSession: { method: 'DELETE', path: '/api/next/buy-button/sessions/{id}', query: [], keyed: false, json: true },
  getBuyButtonSessionByCode: { method: 'GET', path: '/api/next/buy-button/sessions/code/{code}', query: [], keyed: false, json: true },
  getWebhookSecret: { method: 'GET', path: '/api/users/webhook-secret', query: ['companyId'], keyed: false, json: true },
  regenerateWebhookSecret: { method: 'POST', path: '/api/users/webhook-secret/regenerate', query: ['companyId'], keyed: true, json: true },
  prepareWebhookSecret: { method: 'POST', path: '/api/users/webhook-secret/next', query: ['companyId'], keyed: true, json: true },
  testWebhookSecret: { method: 'POST', path: '/api/users/webhook-secret/next/test', query: [], keyed: true, json: true },
  activateWebhookSecret: { method: 'POST', path: '/api/users/webhook-secret/next/activate', query: ['companyId'], keyed: true, json: true },
} as const
