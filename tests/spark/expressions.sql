-- Each line is one expression that Joinery and Spark must agree on, over the rows of
-- test_expressions_agree.py: in type, in value, and in where they fail.
-- arithmetic
y + y
y + h
i + j
i + l
l + j
f + f
f + i
d + f
d + l
dc + dc
dc + i
dc + l
i + dc
dc + big
big + big
big + j
dc + d
dc + 3
2 + dc
-12 + dc
i + 2
d + 1.5
dc + 1.25
'3' + i
l + '4'
d + '2'
dc + '2'
null + i
null + dc
i + 0
d + 0
dc + 0.0
h + j
f + dc
y - y
i - j
l - j
f - f
d - f
dc - dc
dc - i
dc - big
big - big
dc - 3
l - '4'
null - dc
d - 0
y * y
i * j
l * j
f * f
d * f
dc * dc
dc * i
dc * big
big * big
dc * 3
l * '4'
null * dc
d * 0
y / y
y / h
i / j
i / l
l / j
f / f
f / i
d / f
d / l
dc / dc
dc / i
dc / l
i / dc
dc / big
big / big
big / j
dc / d
dc / 3
2 / dc
-12 / dc
i / 2
d / 1.5
dc / 1.25
'3' / i
l / '4'
d / '2'
dc / '2'
null / i
null / dc
i / 0
d / 0
dc / 0.0
h / j
f / dc
y % y
i % j
l % j
f % f
d % f
dc % dc
dc % i
dc % big
big % big
dc % 3
l % '4'
null % dc
d % 0
y div y
i div j
l div j
l div -1L
dc div j
dc div 0.3
big div dc
i div 0
y div -1Y
pmod(i, j)
mod(i, j)
pmod(i, 4)
mod(i, 4)
pmod(l, j)
mod(l, j)
pmod(d, 2)
mod(d, 2)
pmod(d, -2D)
mod(d, -2D)
pmod(dc, j)
mod(dc, j)
pmod(dc, -0.3)
mod(dc, -0.3)
pmod(-7, dc)
mod(-7, dc)
pmod(f, f)
mod(f, f)
pmod(i, 0)
mod(i, 0)
-y
+y
abs(y)
round(y)
round(y, 1)
round(y, -1)
floor(y)
ceil(y)
sqrt(y)
sign(y)
-h
+h
abs(h)
round(h)
round(h, 1)
round(h, -1)
floor(h)
ceil(h)
sqrt(h)
sign(h)
-i
+i
abs(i)
round(i)
round(i, 1)
round(i, -1)
floor(i)
ceil(i)
sqrt(i)
sign(i)
-l
+l
abs(l)
round(l)
round(l, 1)
round(l, -1)
floor(l)
ceil(l)
sqrt(l)
sign(l)
-f
+f
abs(f)
round(f)
round(f, 1)
round(f, -1)
floor(f)
ceil(f)
sqrt(f)
sign(f)
-d
+d
abs(d)
round(d)
round(d, 1)
round(d, -1)
floor(d)
ceil(d)
sqrt(d)
sign(d)
-dc
+dc
abs(dc)
round(dc)
round(dc, 1)
round(dc, -1)
floor(dc)
ceil(dc)
sqrt(dc)
sign(dc)
-big
+big
abs(big)
round(big)
round(big, 1)
round(big, -1)
floor(big)
ceil(big)
sqrt(big)
sign(big)
ceiling(dc)
signum(d)
round(dc, 5)
round(big, 10)
round(d, 3)
round(dc, -3)
round(l, -3)
round(h, -2)
i + j * 2 - 1
(i + j) * 2L
-i * 2
- 5
-2147483648
2147483648
9223372036854775808
-9223372036854775808
1.5
.5
0.10
00.1
5.
1e3
1.5e0BD
1e3BD
1L + 1S + 1Y
1.5F * 2
1.5D / 3
0BD
0.00BD
dc * dc * dc * dc
big * dc / 7
dc / 3 + big
-- text
'a''b'
'a' 'b'
"dq"
'a\nb\%c\_d\x'
'\u0041\101\Z'
r'a\nb'
X'1F0'
-- comparison
i = j
i = l
f = d
d = d
d = 0
f = f
dc = i
dc = big
dc = d
dc = 1
s = t
s = 'abc'
dt = date'2020-01-01'
dt = ts
ts = timestamp'2000-01-01 00:00:00'
dt = '2024-02-29'
i = '9'
b = true
bin = X'01'
xs = array(1, 2)
st = named_struct('p', 1, 'q', 'z')
i = null
l = 2.5
dc = 99.999
i <> l
d <> d
dc <> big
s <> t
i < j
i < l
f < d
d < d
d < 0
f < f
dc < i
dc < big
dc < d
dc < 1
s < t
s < 'abc'
dt < date'2020-01-01'
dt < ts
ts < timestamp'2000-01-01 00:00:00'
dt < '2024-02-29'
i < '9'
b < true
bin < X'01'
xs < array(1, 2)
st < named_struct('p', 1, 'q', 'z')
i < null
l < 2.5
dc < 99.999
i <= l
d <= d
dc <= big
s <= t
i > l
d > d
dc > big
s > t
i >= l
d >= d
dc >= big
s >= t
i <=> j
i <=> l
f <=> d
d <=> d
d <=> 0
f <=> f
dc <=> i
dc <=> big
dc <=> d
dc <=> 1
s <=> t
s <=> 'abc'
dt <=> date'2020-01-01'
dt <=> ts
ts <=> timestamp'2000-01-01 00:00:00'
dt <=> '2024-02-29'
i <=> '9'
b <=> true
bin <=> X'01'
xs <=> array(1, 2)
st <=> named_struct('p', 1, 'q', 'z')
i <=> null
l <=> 2.5
dc <=> 99.999
i == j
i != j
i !< j
i !> j
xs = array(1L, 2L, null)
i in (9, 10L)
i in (9, null)
i in (0, 10.5)
s in ('abc', 'x', t)
d in (2.5D, double('NaN'))
dt in (date'1970-01-01', ts)
null in (1)
i not in (1, j)
i between j and 10
i not between -10 and 10.5
s between 'a' and 'b'
i between 1 and '10'
i is null
i is not null
b is true
b is not true
b is false
b is unknown
b is not unknown
i is distinct from j
i is not distinct from 9
-- logic
b and i > 0
i > 0 or b
not b
! b
not b and i is null
b or not b and i = 1
null and b
null or b
not null
i = 9 is null
i > 0 = b
b = b = true
not i = 9
d > 0 and 1 / j > 0
j = 0 or 1 / j > 0
case when j = 0 then 0 else i div j end
if(j = 0, null, i / j)
coalesce(i, 1 div j)
-- choice
case when b then 1 else 2.5 end
case when b then i when i > 3 then l end
case i when 9 then 'x' when 10L then 'y' else s end
case s when 'abc' then dc else i end
case when i > 0 then s else t end
case when b then st end
case when b then array(1L) else xs end
if(b, i, l)
if(b, null, dt)
if(b, dt, ts)
if(b, '7', i)
coalesce(i, l)
coalesce(i, f)
coalesce(dc, i)
coalesce(1, dc)
coalesce(null, s, t)
coalesce(s, dt)
coalesce(dt, ts)
coalesce(xs, array(1L))
coalesce(st, named_struct('p', 2L, 'q', 'x'))
nvl(i, j)
ifnull(dc, d)
nvl2(i, j, l)
nullif(i, 9L)
nullif(s, '')
nullif(i, '9')
greatest(i, l, 3)
greatest(d, f, 0)
greatest(dc, i)
greatest(s, t)
least(i, j, null)
least(d, 1.0D)
least(dt, ts)
greatest(b, false)
greatest(xs, array(2))
-- casts
cast(y as tinyint)
cast(y as smallint)
cast(y as int)
cast(y as bigint)
cast(y as float)
cast(y as double)
cast(y as boolean)
cast(y as decimal(5,1))
cast(y as decimal(38,10))
cast(i as tinyint)
cast(i as smallint)
cast(i as int)
cast(i as bigint)
cast(i as float)
cast(i as double)
cast(i as boolean)
cast(i as decimal(5,1))
cast(i as decimal(38,10))
cast(l as tinyint)
cast(l as smallint)
cast(l as int)
cast(l as bigint)
cast(l as float)
cast(l as double)
cast(l as boolean)
cast(l as decimal(5,1))
cast(l as decimal(38,10))
cast(f as tinyint)
cast(f as smallint)
cast(f as int)
cast(f as bigint)
cast(f as float)
cast(f as double)
cast(f as boolean)
cast(f as decimal(5,1))
cast(f as decimal(38,10))
cast(d as tinyint)
cast(d as smallint)
cast(d as int)
cast(d as bigint)
cast(d as float)
cast(d as double)
cast(d as boolean)
cast(d as decimal(5,1))
cast(d as decimal(38,10))
cast(dc as tinyint)
cast(dc as smallint)
cast(dc as int)
cast(dc as bigint)
cast(dc as float)
cast(dc as double)
cast(dc as boolean)
cast(dc as decimal(5,1))
cast(dc as decimal(38,10))
cast(big as tinyint)
cast(big as smallint)
cast(big as int)
cast(big as bigint)
cast(big as float)
cast(big as double)
cast(big as boolean)
cast(big as decimal(5,1))
cast(big as decimal(38,10))
cast(b as tinyint)
cast(b as smallint)
cast(b as int)
cast(b as bigint)
cast(b as float)
cast(b as double)
cast(b as boolean)
cast(b as decimal(5,1))
cast(b as decimal(38,10))
cast(y as string)
cast(i as string)
cast(l as string)
cast(dc as string)
cast(big as string)
cast(b as string)
cast(dt as string)
cast(ts as string)
cast(s as string)
cast(y as timestamp)
cast(i as timestamp)
cast(l as timestamp)
cast(ts as tinyint)
cast(ts as int)
cast(ts as bigint)
cast(ts as date)
cast(dt as timestamp)
s::int
i::string
'5'::int + 1
int(s)
string(i)
double(i)
float(l)
boolean(i)
bigint(s)
decimal(i)
tinyint(i)
smallint(i)
date(ts)
timestamp(dt)
cast(null as int)
cast(s as tinyint)
try_cast(s as tinyint)
cast(s as int)
try_cast(s as int)
cast(s as bigint)
try_cast(s as bigint)
cast(s as float)
try_cast(s as float)
cast(s as double)
try_cast(s as double)
cast(s as boolean)
try_cast(s as boolean)
cast(s as decimal(5,1))
try_cast(s as decimal(5,1))
cast(s as date)
try_cast(s as date)
cast(s as timestamp)
try_cast(s as timestamp)
cast(t as tinyint)
try_cast(t as tinyint)
cast(t as int)
try_cast(t as int)
cast(t as bigint)
try_cast(t as bigint)
cast(t as float)
try_cast(t as float)
cast(t as double)
try_cast(t as double)
cast(t as boolean)
try_cast(t as boolean)
cast(t as decimal(5,1))
try_cast(t as decimal(5,1))
cast(t as date)
try_cast(t as date)
cast(t as timestamp)
try_cast(t as timestamp)
transform(array('1.5', ' 15 ', '+15', '-15', '1_000', '', '5.', '+', '-', '.5', '300', '99999999999', '\t7\n', '\u00a05', '٣', '1e3', '1.0d', '1F', 'NaN', 'nan', '+NaN', '-NaN', '-nan', 'infinity', '-Inf', '+inf', '0x10', '0x1p3', '1 2', '1e400', '-1e-400', '1.005', '1.25', '-1.25', '12345', '1.5d', '+1.5E+1', 't', 'Y', 'no', 'F', '0', '1', '2', ' TRUE ', 'truex'), x -> try_cast(x as int))
transform(array('1.5', ' 15 ', '+15', '-15', '1_000', '', '5.', '+', '-', '.5', '300', '99999999999', '\t7\n', '\u00a05', '٣', '1e3', '1.0d', '1F', 'NaN', 'nan', '+NaN', '-NaN', '-nan', 'infinity', '-Inf', '+inf', '0x10', '0x1p3', '1 2', '1e400', '-1e-400', '1.005', '1.25', '-1.25', '12345', '1.5d', '+1.5E+1', 't', 'Y', 'no', 'F', '0', '1', '2', ' TRUE ', 'truex'), x -> try_cast(x as double))
transform(array('1.5', ' 15 ', '+15', '-15', '1_000', '', '5.', '+', '-', '.5', '300', '99999999999', '\t7\n', '\u00a05', '٣', '1e3', '1.0d', '1F', 'NaN', 'nan', '+NaN', '-NaN', '-nan', 'infinity', '-Inf', '+inf', '0x10', '0x1p3', '1 2', '1e400', '-1e-400', '1.005', '1.25', '-1.25', '12345', '1.5d', '+1.5E+1', 't', 'Y', 'no', 'F', '0', '1', '2', ' TRUE ', 'truex'), x -> try_cast(x as float))
transform(array('1.5', ' 15 ', '+15', '-15', '1_000', '', '5.', '+', '-', '.5', '300', '99999999999', '\t7\n', '\u00a05', '٣', '1e3', '1.0d', '1F', 'NaN', 'nan', '+NaN', '-NaN', '-nan', 'infinity', '-Inf', '+inf', '0x10', '0x1p3', '1 2', '1e400', '-1e-400', '1.005', '1.25', '-1.25', '12345', '1.5d', '+1.5E+1', 't', 'Y', 'no', 'F', '0', '1', '2', ' TRUE ', 'truex'), x -> try_cast(x as decimal(5,1)))
transform(array('1.5', ' 15 ', '+15', '-15', '1_000', '', '5.', '+', '-', '.5', '300', '99999999999', '\t7\n', '\u00a05', '٣', '1e3', '1.0d', '1F', 'NaN', 'nan', '+NaN', '-NaN', '-nan', 'infinity', '-Inf', '+inf', '0x10', '0x1p3', '1 2', '1e400', '-1e-400', '1.005', '1.25', '-1.25', '12345', '1.5d', '+1.5E+1', 't', 'Y', 'no', 'F', '0', '1', '2', ' TRUE ', 'truex'), x -> try_cast(x as boolean))
transform(array('1.5', ' 15 ', '+15', '-15', '1_000', '', '5.', '+', '-', '.5', '300', '99999999999', '\t7\n', '\u00a05', '٣', '1e3', '1.0d', '1F', 'NaN', 'nan', '+NaN', '-NaN', '-nan', 'infinity', '-Inf', '+inf', '0x10', '0x1p3', '1 2', '1e400', '-1e-400', '1.005', '1.25', '-1.25', '12345', '1.5d', '+1.5E+1', 't', 'Y', 'no', 'F', '0', '1', '2', ' TRUE ', 'truex'), x -> try_cast(x as bigint))
transform(array('2020', '2020-1', '2020-1-2', '2020-01-02T11', '2020-01-02x', ' 2020-01-02 ', '2020-02-30', '2020-13-01', '020-01-02', '+2020-01-02', '2020-', '2020-01-'), x -> try_cast(x as date))
transform(array('2020', '2020-1', '2020-1-2', '2020-01-02T11', '2020-01-02x', ' 2020-01-02 ', '2020-02-30', '2020-13-01', '020-01-02', '+2020-01-02', '2020-', '2020-01-'), x -> try_cast(x as timestamp))
transform(array('2020-01-02T', '2020-001-02', '2020-01-02 3:4:5.1234567', '2020-01-02T03:04:05Z', '2020-01-02 03:04:05+1:00', '2020-01-02 03:04:05 UTC', '2020-01-02 03:04:05 Europe/Berlin', '2020-03-29 02:30:00 Europe/Berlin', '2020-10-25 02:30:00 Europe/Berlin', '2020-01-02 03:04', '2020-01-02 03', '2020-01-02 '), x -> try_cast(x as date))
transform(array('2020-01-02T', '2020-001-02', '2020-01-02 3:4:5.1234567', '2020-01-02T03:04:05Z', '2020-01-02 03:04:05+1:00', '2020-01-02 03:04:05 UTC', '2020-01-02 03:04:05 Europe/Berlin', '2020-03-29 02:30:00 Europe/Berlin', '2020-10-25 02:30:00 Europe/Berlin', '2020-01-02 03:04', '2020-01-02 03', '2020-01-02 '), x -> try_cast(x as timestamp))
transform(array('2020-01-02 03:04:05GMT+2', '2020-01-02 24:00:00', '2020-01-02 03:60:00', '2020-01-02 03:04:05.', '2020-01-02 03:04:', '2020-01-02 03:', '2020-01-02T03:04+02:00', '2020-01-02 03:04:05.1Z', '2020-01-02 03:04:05+01', '2020-01-02 03:04:05+1', '2020-01-02 03:04:05+0130', '2020-01-02 03:04:05+01:30:15'), x -> try_cast(x as date))
transform(array('2020-01-02 03:04:05GMT+2', '2020-01-02 24:00:00', '2020-01-02 03:60:00', '2020-01-02 03:04:05.', '2020-01-02 03:04:', '2020-01-02 03:', '2020-01-02T03:04+02:00', '2020-01-02 03:04:05.1Z', '2020-01-02 03:04:05+01', '2020-01-02 03:04:05+1', '2020-01-02 03:04:05+0130', '2020-01-02 03:04:05+01:30:15'), x -> try_cast(x as timestamp))
transform(array('2020-01-02 03:04:05  +01:00', '2020-01-02 03:04:05UTC+1', '2020-01-02 03:04:05z', '2020-01-02 03:04:05 utc', '2020Z', '2020-01-02Z', '2020-01-02+01:00', '2020-01-02 03:04:05-18:00', '2020-01-02 03:04:05+19:00', '2020-01-02 03:04:05 Nowhere/City', '2020-01-02 03:04:05+01:5', '2020-01-02 03:04:05+0:5'), x -> try_cast(x as date))
transform(array('2020-01-02 03:04:05  +01:00', '2020-01-02 03:04:05UTC+1', '2020-01-02 03:04:05z', '2020-01-02 03:04:05 utc', '2020Z', '2020-01-02Z', '2020-01-02+01:00', '2020-01-02 03:04:05-18:00', '2020-01-02 03:04:05+19:00', '2020-01-02 03:04:05 Nowhere/City', '2020-01-02 03:04:05+01:5', '2020-01-02 03:04:05+0:5'), x -> try_cast(x as timestamp))
-- text functions
upper(s)
lower(s)
ucase(s)
lcase(s)
trim(s)
ltrim(s)
rtrim(s)
length(s)
len(s)
char_length(s)
character_length(s)
reverse(s)
upper(t)
lower(t)
ucase(t)
lcase(t)
trim(t)
ltrim(t)
rtrim(t)
length(t)
len(t)
char_length(t)
character_length(t)
reverse(t)
upper(i)
length(dt)
concat(s, t)
concat(s, i, dt, ts, b, dc)
concat(s)
concat()
concat(null, s)
concat(xs, array(4L))
concat(xs, xs)
s || '-' || t
i || s
1 + i || 'x'
concat_ws(',', ss)
concat_ws(',', s, ss, null, t)
concat_ws(t, s, 'x')
concat_ws(s, i, j)
concat_ws('-')
substring(s, 0)
substr(s, 0, 2)
substring(s, 0, -1)
left(s, 0)
right(s, 0)
lpad(s, 0, 'xy')
rpad(s, 0, t)
split_part(s, t, 0)
locate(t, s, 0)
substring(s, 1)
substr(s, 1, 2)
substring(s, 1, -1)
left(s, 1)
right(s, 1)
lpad(s, 1, 'xy')
rpad(s, 1, t)
split_part(s, t, 1)
locate(t, s, 1)
substring(s, 2)
substr(s, 2, 2)
substring(s, 2, -1)
left(s, 2)
right(s, 2)
lpad(s, 2, 'xy')
rpad(s, 2, t)
split_part(s, t, 2)
locate(t, s, 2)
substring(s, -2)
substr(s, -2, 2)
substring(s, -2, -1)
left(s, -2)
right(s, -2)
lpad(s, -2, 'xy')
rpad(s, -2, t)
split_part(s, t, -2)
locate(t, s, -2)
substring(s, -5)
substr(s, -5, 2)
substring(s, -5, -1)
left(s, -5)
right(s, -5)
lpad(s, -5, 'xy')
rpad(s, -5, t)
split_part(s, t, -5)
locate(t, s, -5)
substring(s, 9)
substr(s, 9, 2)
substring(s, 9, -1)
left(s, 9)
right(s, 9)
lpad(s, 9, 'xy')
rpad(s, 9, t)
split_part(s, t, 9)
locate(t, s, 9)
substring(s, j)
substr(s, j, 2)
substring(s, j, -1)
left(s, j)
right(s, j)
lpad(s, j, 'xy')
rpad(s, j, t)
split_part(s, t, j)
locate(t, s, j)
substring(s, i)
substr(s, i, 2)
substring(s, i, -1)
left(s, i)
right(s, i)
rpad(s, 9)
split_part(s, t, i)
locate(t, s, i)
lpad(s, 5)
lpad(s, 5, '')
rpad(s, 8, 'ab')
repeat(t, j)
repeat(s, 3)
replace(s, t, 'ZZ')
replace(s, 'a')
replace(s, '', 'x')
instr(s, t)
locate(t, s)
position(t, s)
locate('b', s, null)
locate(null, s, 1)
startswith(s, t)
endswith(s, t)
contains(s, t)
split(s, 'b')
split(s, ' ')
split('', ',')
split('a,,b,', ',')
split_part('a.b.c', '.', 2)
split_part('a.b.c', '.', -1)
s like t
s like '%b%'
s like 'a_c'
s like ''
s not like 'a%'
s like '%\\_c%'
s like 'a\\%b%'
'a\nb' like 'a_b'
'\\' like '\\\\'
s ilike 'A%'
s ilike '%äSS%'
-- dates and timestamps
date'2020-1-1'
date '2020-01-01'
timestamp'2020-01-01'
timestamp'2020-01-01 00:00:00+02:00'
year(dt)
quarter(dt)
month(dt)
day(dt)
dayofmonth(dt)
dayofweek(dt)
weekday(dt)
dayofyear(dt)
weekofyear(dt)
last_day(dt)
to_date(dt)
hour(dt)
minute(dt)
second(dt)
to_timestamp(dt)
year(ts)
quarter(ts)
month(ts)
day(ts)
dayofmonth(ts)
dayofweek(ts)
weekday(ts)
dayofyear(ts)
weekofyear(ts)
last_day(ts)
to_date(ts)
hour(ts)
minute(ts)
second(ts)
to_timestamp(ts)
year('2020-05-06')
quarter('2020-05-06')
month('2020-05-06')
day('2020-05-06')
dayofmonth('2020-05-06')
dayofweek('2020-05-06')
weekday('2020-05-06')
dayofyear('2020-05-06')
weekofyear('2020-05-06')
last_day('2020-05-06')
to_date('2020-05-06')
hour('2020-05-06')
minute('2020-05-06')
second('2020-05-06')
to_timestamp('2020-05-06')
date_trunc('year', ts)
date_trunc('yyyy', ts)
date_trunc('yy', ts)
date_trunc('quarter', ts)
date_trunc('month', ts)
date_trunc('mon', ts)
date_trunc('mm', ts)
date_trunc('week', ts)
date_trunc('day', ts)
date_trunc('dd', ts)
date_trunc('hour', ts)
date_trunc('minute', ts)
date_trunc('second', ts)
date_trunc('millisecond', ts)
date_trunc('microsecond', ts)
date_trunc('MONTH', ts)
trunc(dt, 'year')
trunc(dt, 'quarter')
trunc(dt, 'month')
trunc(dt, 'mm')
trunc(dt, 'week')
trunc(dt, 'yy')
trunc(ts, 'year')
trunc(ts, 'quarter')
trunc(ts, 'month')
trunc(ts, 'mm')
trunc(ts, 'week')
trunc(ts, 'yy')
date_trunc('month', dt)
date_add(dt, 1)
date_add(dt, i)
date_add(ts, y)
date_sub(dt, j)
dateadd('2020-01-01', h)
datediff(dt, ts)
datediff(dt, date'2020-01-01')
date_diff(ts, '2020-01-01')
add_months(dt, 1)
add_months(dt, -1)
add_months(ts, i)
make_date(2020, j, 1)
make_date(i, 2, 29)
unix_date(dt)
date_from_unix_date(i)
unix_micros(ts)
unix_millis(ts)
unix_seconds(ts)
timestamp_micros(l)
timestamp_millis(i)
timestamp_millis(l)
timestamp_seconds(i)
timestamp_seconds(l)
to_date(s)
to_timestamp(s)
-- collections
size(xs)
size(m)
cardinality(sts)
array_size(ss)
element_at(xs, 1)
element_at(xs, -1)
element_at(xs, j)
element_at(m, 'k')
element_at(m, t)
xs[0]
xs[j]
xs[1L]
xs[y]
m['k']
m[s]
m.k
st.p
st['q']
sts.p
sts.q[0]
sts[0].q
get(xs, j)
get(xs, -1)
filter(xs, x -> x > 1)
filter(sts, r -> r.p is not null and r.q <> '')
filter(xs, x -> null)
filter(xs, x -> x > j)
transform(xs, x -> x + 1L)
transform(xs, (x, k) -> x * k)
transform(sts, r -> r.q)
transform(xs, x -> transform(ss, q -> q || x))
transform(xs, x -> 10 div x)
exists(xs, x -> x > 1)
exists(xs, x -> x is null)
exists(ss, x -> x = t)
forall(xs, x -> x > 0)
forall(xs, x -> x is not null)
array_sort(xs)
array_sort(ss)
array_sort(sts)
array_sort(array(2.0D, d, null, double('NaN')))
sort_array(xs)
sort_array(ss, false)
sort_array(array(b, not b, null))
array_contains(xs, 2)
array_contains(xs, 5L)
array_contains(array(1L), i)
array_contains(ss, t)
array_contains(sts, st)
array_position(xs, 2)
array_position(ss, 'b')
array_distinct(xs)
array_distinct(array(0.0D, -0.0D, d, double('NaN'), null, null))
array_max(xs)
array_min(ss)
array_max(array(d, 1D, null))
array_join(ss, ',')
array_join(ss, '-', 'null')
slice(xs, 1, 2)
slice(xs, -2, 5)
slice(xs, j, 1)
reverse(xs)
map_contains_key(m, 'k')
map_contains_key(m, t)
array(i, l)
array(i, null)
array()
array(st, named_struct('p', 2L, 'q', 'x'))
array(dc, i)
struct(i, st.p, s as x, i + 1)
named_struct('a', i, 'b', array(s))
struct(st.p, m.k)
size(filter(xs, x -> x is not null)) > 1
element_at(transform(filter(sts, r -> r.p > 0), r -> r.q), 1)
concat_ws(',', transform(xs, x -> string(x)))
upper(substring(s, 1, 1)) || lower(substring(s, 2))
