"""Nexmark's queries in SQL: what DuckDB, Flink and Spark are asked, each in its own words.

The columns are, in this order, those that the files in `nexmark/` send, nested ones spread over
rows (`answers.py`). Averages are doubles on all sides, and where several rows have one
place in an order, the earlier bid comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Query:
    """One of Nexmark's queries.

    Attributes:
        title: What it asks.
        sql: What all are asked that have no words of their own.
        flink, spark: Their own words.
        why_not: Why one of `ours`, `flink`, `spark` is not asked.
        products: What `ours` runs beside the product or stream of the query's own name.
        keys: How many columns name a row that Spark sends again when it changes; 0 where a row
            that was sent stays.
        ranked: True where the place in a list is a column, too.
    """

    title: str
    sql: str = ""
    flink: str = ""
    spark: str = ""
    why_not: Mapping[str, str] = field(default_factory=dict)
    products: tuple[str, ...] = ()
    keys: int = 0
    ranked: bool = False

    def told(self, side: str) -> str:
        """Return the SQL for `duckdb`, `flink` or `spark`."""
        own = {"flink": self.flink, "spark": self.spark}
        return own.get(side) or self.sql


VALID = """
  SELECT b.*, a.seller, a.category
  FROM auction a JOIN bid b ON a.id = b.auction
  WHERE b.placed_at BETWEEN a.opened_at AND a.expires_at
"""
WON = f"""
  SELECT * FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, placed_at) AS nth
    FROM ({VALID}) AS valid
  ) AS ordered WHERE nth = 1
"""
LOW = "FILTER (WHERE price < 10000)"
MID = "FILTER (WHERE price >= 10000 AND price < 1000000)"
HIGH = "FILTER (WHERE price >= 1000000)"
BIDS = f"COUNT(*), COUNT(*) {LOW}, COUNT(*) {HIGH}, COUNT(*) {MID}"
DISTINCT = "COUNT(DISTINCT bidder), COUNT(DISTINCT auction), " + ", ".join(
    f"COUNT(DISTINCT {column}) {level}"
    for column in ("bidder", "auction")
    for level in (LOW, MID, HIGH)
)
DAY = "CAST(placed_at AS DATE)"
COUNTED = """
  SELECT auction, began, COUNT(*) AS num FROM (
    SELECT auction, time_bucket(INTERVAL 2 SECOND, placed_at) - step * INTERVAL 2 SECOND AS began
    FROM bid, range(5) AS steps(step)
  ) GROUP BY auction, began
"""
HOPPED = """
  SELECT auction, window_start AS began, window_end AS ended, COUNT(*) AS num FROM TABLE(
    HOP(TABLE bid, DESCRIPTOR(placed_at), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
"""
MOST = "TUMBLE(TABLE bid, DESCRIPTOR(placed_at), INTERVAL '10' SECOND)"
NEW = "TUMBLE(TABLE {table}, DESCRIPTOR({at}), INTERVAL '10' SECOND)"
CHANNEL = """
  SELECT auction, bidder, price, channel, CASE LOWER(channel)
    WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
    ELSE NULLIF(REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2), '') END AS channel_id
  FROM bid
"""
RANKED = """
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, placed_at) AS nth FROM bid
"""
CLOCK = "Its windows go by the clock of the machine: no two runs have the same answer."

QUERIES: dict[str, Query] = {
    "q0": Query("All bids", "SELECT auction, bidder, price, placed_at, extra FROM bid"),
    "q1": Query(
        "Prices in another currency",
        "SELECT auction, bidder, 0.908 * price AS price, placed_at, extra FROM bid",
    ),
    "q2": Query(
        "Bids on some auctions", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"
    ),
    "q3": Query(
        "Who sells in some states",
        """SELECT a.id, p.name, p.city, p.state FROM auction a JOIN person p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    ),
    "q4": Query(
        "Mean winning price of a category",
        f"""SELECT category, AVG(CAST(final AS DOUBLE)) AS mean FROM (
          SELECT auction, category, MAX(price) AS final FROM ({VALID}) AS valid
          GROUP BY auction, category
        ) AS won GROUP BY category""",
        products=("q4_bid", "q4_auction"),
        keys=1,
    ),
    "q5": Query(
        "Auctions with the most bids in ten seconds, every two",
        f"""SELECT auction, began, num FROM (
          SELECT *, MAX(num) OVER (PARTITION BY began) AS most FROM ({COUNTED})
        ) WHERE num = most""",
        flink=f"""SELECT c.auction, c.began, c.num FROM ({HOPPED}) AS c JOIN (
          SELECT began, ended, MAX(num) AS most FROM ({HOPPED}) AS d GROUP BY began, ended
        ) AS m ON c.began = m.began AND c.ended = m.ended AND c.num >= m.most""",
        spark="""SELECT c.auction, c.w.start AS began, c.num FROM (
          SELECT auction, window(placed_at, '10 seconds', '2 seconds') AS w, COUNT(*) AS num
          FROM bid GROUP BY 1, 2
        ) AS c JOIN (
          SELECT w, MAX(num) AS most FROM (
            SELECT auction, window(placed_at, '10 seconds', '2 seconds') AS w, COUNT(*) AS num
            FROM bid GROUP BY 1, 2
          ) GROUP BY w
        ) AS m ON c.w = m.w AND c.num = m.most""",
        products=("q5_count", "q5_most"),
        keys=2,
    ),
    "q6": Query(
        "Mean price of a seller's last ten sales",
        f"""SELECT seller, AVG(CAST(price AS DOUBLE)) AS price FROM (
          SELECT seller, price,
            ROW_NUMBER() OVER (PARTITION BY seller ORDER BY placed_at DESC) AS recent
          FROM ({WON}) AS won
        ) AS sales WHERE recent <= 10 GROUP BY seller""",
        products=("q6_bid", "q6_auction", "q6_seller"),
        keys=1,
    ),
    "q7": Query(
        "Highest bids of ten seconds",
        """SELECT began, price, auction, bidder, placed_at, extra FROM (
          SELECT *, time_bucket(INTERVAL 10 SECOND, placed_at) AS began,
            MAX(price) OVER (PARTITION BY time_bucket(INTERVAL 10 SECOND, placed_at)) AS most
          FROM bid
        ) WHERE price = most""",
        flink=f"""SELECT m.began, b.price, b.auction, b.bidder, b.placed_at, b.extra
        FROM bid b JOIN (
          SELECT window_start AS began, window_end AS ended, MAX(price) AS most FROM TABLE({MOST})
          GROUP BY window_start, window_end
        ) AS m ON b.price = m.most
        WHERE CAST(b.placed_at AS TIMESTAMP(3)) >= m.began
          AND CAST(b.placed_at AS TIMESTAMP(3)) < m.ended""",
        spark="""SELECT m.w.start AS began, b.price, b.auction, b.bidder, b.placed_at, b.extra
        FROM bid b JOIN (
          SELECT window(placed_at, '10 seconds') AS w, MAX(price) AS most FROM bid GROUP BY 1
        ) AS m ON b.price = m.most
        WHERE b.placed_at >= m.w.start AND b.placed_at < m.w.end""",
        products=("q7_most",),
        keys=4,
    ),
    "q8": Query(
        "New people who sell within ten seconds",
        """SELECT p.id, p.name, time_bucket(INTERVAL 10 SECOND, joined_at) AS began,
          COUNT(*) AS sells
        FROM person p JOIN auction a ON p.id = a.seller AND
          time_bucket(INTERVAL 10 SECOND, joined_at) = time_bucket(INTERVAL 10 SECOND, opened_at)
        GROUP BY ALL""",
        flink=f"""SELECT p.id, p.name, p.began, a.sells FROM (
          SELECT id, name, window_start AS began, window_end AS ended
          FROM TABLE({NEW.format(table="person", at="joined_at")})
          GROUP BY id, name, window_start, window_end
        ) AS p JOIN (
          SELECT seller, window_start AS began, window_end AS ended, COUNT(*) AS sells
          FROM TABLE({NEW.format(table="auction", at="opened_at")})
          GROUP BY seller, window_start, window_end
        ) AS a ON p.id = a.seller AND p.began = a.began AND p.ended = a.ended""",
        spark="""SELECT p.id, p.name, p.w.start AS began, COUNT(*) AS sells
        FROM (SELECT *, window(joined_at, '10 seconds') AS w FROM person) AS p
        JOIN (SELECT *, window(opened_at, '10 seconds') AS w FROM auction) AS a
        ON p.id = a.seller AND p.w = a.w GROUP BY 1, 2, 3""",
        keys=3,
    ),
    "q9": Query(
        "Winning bid of each auction",
        f"""SELECT a.id, a.item, a.description, a.initial_bid, a.reserve, a.opened_at, a.expires_at,
          a.seller, a.category, a.extra, w.id AS bid, w.bidder, w.price, w.placed_at, w.auction,
          w.extra AS bid_extra
        FROM auction a JOIN ({WON}) AS w ON a.id = w.auction""",
        flink="""SELECT id, item, description, initial_bid, reserve, opened_at, expires_at, seller,
          category, extra, bid, bidder, price, placed_at, auction, bid_extra FROM (
          SELECT a.*, b.id AS bid, b.bidder, b.price, b.placed_at, b.auction, b.extra AS bid_extra,
            ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.placed_at) AS nth
          FROM auction a JOIN bid b ON a.id = b.auction
          WHERE b.placed_at BETWEEN a.opened_at AND a.expires_at
        ) WHERE nth = 1""",
        products=("q9_bid",),
    ),
    "q10": Query(
        "Bids with their day and minute",
        """SELECT auction, bidder, price, placed_at, extra,
          strftime(placed_at, '%Y-%m-%d') AS bid_day,
          strftime(placed_at, '%H:%M') AS bid_minute FROM bid""",
        flink="""SELECT auction, bidder, price, placed_at, extra,
          DATE_FORMAT(placed_at, 'yyyy-MM-dd') AS bid_day,
          DATE_FORMAT(placed_at, 'HH:mm') AS bid_minute FROM bid""",
        spark="""SELECT auction, bidder, price, placed_at, extra,
          date_format(placed_at, 'yyyy-MM-dd') AS bid_day,
          date_format(placed_at, 'HH:mm') AS bid_minute FROM bid""",
    ),
    "q11": Query(
        "Bids of a session",
        """SELECT bidder, MIN(placed_at) AS began, MAX(placed_at) + INTERVAL 10 SECOND AS ended,
          COUNT(*) AS bids FROM (
          SELECT *, SUM(CAST(starts AS INT)) OVER (PARTITION BY bidder ORDER BY placed_at) AS nth
          FROM (
            SELECT bidder, placed_at, placed_at - LAG(placed_at) OVER (
              PARTITION BY bidder ORDER BY placed_at) >= INTERVAL 10 SECOND AS starts FROM bid
          )
        ) GROUP BY bidder, coalesce(nth, 0)""",
        flink="""SELECT bidder, window_start AS began, window_end AS ended, COUNT(*) AS bids
        FROM TABLE(
          SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(placed_at), INTERVAL '10' SECOND))
        GROUP BY bidder, window_start, window_end""",
        spark="""SELECT bidder, w.start AS began, w.end AS ended, bids FROM (
          SELECT bidder, session_window(placed_at, '10 seconds') AS w, COUNT(*) AS bids
          FROM bid GROUP BY 1, 2)""",
        why_not={"spark": "It sends sessions once they are over, and leaves the last ones open."},
    ),
    "q12": Query(
        "Bids of ten seconds of processing time",
        why_not=dict.fromkeys(("ours", "flink", "spark"), CLOCK),
    ),
    "q13": Query(
        "Bids with a column of a small table",
        """SELECT b.auction, b.bidder, b.price, b.placed_at, s.label
        FROM bid b JOIN side s ON MOD(b.auction, 10000) = s.id""",
    ),
    "q14": Query(
        "Dear bids by time of day, letters counted",
        """SELECT auction, bidder, 0.908 * price AS price,
          CASE WHEN HOUR(placed_at) BETWEEN 8 AND 18 THEN 'day'
            WHEN HOUR(placed_at) <= 6 OR HOUR(placed_at) >= 20 THEN 'night' ELSE 'other'
          END AS part,
          placed_at, extra,
          CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_count
        FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    ),
    "q15": Query(
        "Bids, bidders and auctions a day by level of price",
        f"SELECT {DAY}, {BIDS}, {DISTINCT} FROM bid GROUP BY {DAY}",
        keys=1,
    ),
    "q16": Query(
        "The same by channel",
        f"""SELECT channel, {DAY}, MAX(strftime(placed_at, '%H:%M')), {BIDS}, {DISTINCT}
        FROM bid GROUP BY channel, {DAY}""",
        flink=f"""SELECT channel, {DAY}, MAX(DATE_FORMAT(placed_at, 'HH:mm')), {BIDS}, {DISTINCT}
        FROM bid GROUP BY channel, {DAY}""",
        spark=f"""SELECT channel, {DAY}, MAX(date_format(placed_at, 'HH:mm')), {BIDS}, {DISTINCT}
        FROM bid GROUP BY channel, {DAY}""",
        keys=2,
    ),
    "q17": Query(
        "Prices of an auction's day",
        f"""SELECT auction, {DAY}, {BIDS}, MIN(price), MAX(price), AVG(CAST(price AS DOUBLE)),
          SUM(price) FROM bid GROUP BY auction, {DAY}""",
        keys=2,
    ),
    "q18": Query(
        "A bidder's last bid on an auction",
        """SELECT bidder, auction, price, channel, url, placed_at, extra FROM (
          SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY placed_at DESC) AS nth
          FROM bid
        ) AS ordered WHERE nth = 1""",
        spark="""SELECT bidder, auction, newest.* FROM (
          SELECT bidder, auction,
            max_by(struct(price, channel, url, placed_at, extra), placed_at) AS newest
          FROM bid GROUP BY bidder, auction)""",
        keys=2,
    ),
    "q19": Query(
        "Ten highest bids of an auction",
        f"""SELECT auction, nth, bidder, price, channel, url, placed_at, extra
        FROM ({RANKED}) AS ordered WHERE nth <= 10""",
        products=("q19_auction",),
        ranked=True,
    ),
    "q20": Query(
        "Bids with their auction",
        """SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.placed_at, b.extra, a.item,
          a.description, a.initial_bid, a.reserve, a.opened_at, a.expires_at, a.seller, a.category,
          a.extra AS auction_extra
        FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10""",
    ),
    "q21": Query(
        "Bids with the number of their channel",
        f"SELECT * FROM ({CHANNEL}) AS told WHERE channel_id IS NOT NULL",
    ),
    "q22": Query(
        "Folders of a bid's address",
        """SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1,
          split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3 FROM bid""",
        flink="""SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1,
          SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid""",
    ),
    "q23": Query(
        "People with what they bid for and sell",
        """SELECT p.id, p.name, p.email, p.card, p.city, p.state, p.extra, b.price, b.channel,
          b.url, b.extra AS bid_extra, a.item, a.description, a.initial_bid, a.reserve, a.opened_at,
          a.expires_at, a.category, a.extra AS auction_extra
        FROM bid b JOIN person p ON p.id = b.bidder JOIN auction a ON a.seller = b.bidder""",
    ),
}
