<?php

declare(strict_types=1);

/**
 * Makes up for lost webhooks: looks at the shop's own orders, a few at a time, of each kind in turn, going on where the
 * last time ended. So no order waits for another one for good, however many there are.
 */
final class ShopRound
{
    private const ENDS = ['CONNECTION_FAILED', 'SHOP_COPY'];
    /** It stays until a person mends it: customers cannot pay meanwhile. */
    public const KEY = 'Comptoir does not accept the API key of this shop any more. Customers cannot pay, and what became '
        . 'of payments is not known here. Enter a key that works, with its secret, in the settings of the payment method.';
    private const DOWN = 'Comptoir does not work now, so what became of payments is not known here. It is asked again every '
        . 'few minutes.';

    /**
     * @param array<string, int[]> $kinds the numbers of the orders of each kind
     * @param array<string, int> $places the order of each kind at which the last time ended
     * @param int $most orders of each kind, before the next time
     * @param callable(int): void $look
     * @param callable(array<string, int>): void $keep the places; before each order, so that one that ends this process
     *     does not end every later one
     * @param callable(int, Throwable): void $report an order that could not be changed
     * @return string|null what a person is told that ended it, in the same words each time; empty: it was not ended;
     *     null: it was, and the next time may go well
     */
    public static function run(
        array $kinds,
        array $places,
        int $most,
        callable $look,
        callable $keep,
        callable $report,
    ): ?string {
        $turns = [];
        foreach ($kinds as $kind => $ids) {
            foreach (self::next($ids, $places[$kind] ?? 0, $most) as $turn => $id) {
                $turns[$turn][$kind] = $id;
            }
        }
        $done = [];
        foreach ($turns as $turn) {
            foreach ($turn as $kind => $id) {
                $places[$kind] = $id;
                $keep($places);
                if (in_array($id, $done, true)) {
                    continue;
                }
                $done[] = $id;
                try {
                    $look($id);
                } catch (\Throwable $error) {
                    if (self::ends($error)) {
                        return self::faultOf($error);
                    }
                    $report($id, $error);
                }
            }
        }
        return '';
    }

    /** @return string|null what a person is told of it; null: the next time may go well */
    public static function faultOf(\Throwable $error): ?string
    {
        return match (true) {
            !$error instanceof ComptoirError => null,
            $error->status === 401 => self::KEY,
            default => self::isDown($error) ? self::DOWN : null,
        };
    }

    /** It may be over by the next time, also where it is about one order. */
    public static function isPassing(\Throwable $error): bool
    {
        return $error instanceof ComptoirError && ($error->errorCode === 'SHOP_BUSY' || $error->status >= 500);
    }

    /** Comptoir would not answer about any other order either. */
    public static function ends(\Throwable $error): bool
    {
        return $error instanceof ComptoirError
            && (in_array($error->errorCode, self::ENDS, true) || in_array($error->status, [401, 403, 429], true)
                || self::isDown($error));
    }

    /** The service, or what is in front of it, does not work. 500 may be about one order. */
    private static function isDown(ComptoirError $error): bool
    {
        return $error->status > 500;
    }

    /** @param int[] $ids @return int[] those after this one, and then the first again */
    private static function next(array $ids, int $after, int $most): array
    {
        $ids = array_values(array_unique(array_map(intval(...), $ids)));
        sort($ids);
        $later = array_filter($ids, fn ($id) => $id > $after);
        return array_slice([...$later, ...array_diff($ids, $later)], 0, $most);
    }
}
